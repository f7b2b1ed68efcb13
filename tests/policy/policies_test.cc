// The decision tables of the shipped policies: who asks for what, and what is answered by which rule.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "policy/checks.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace questions;
using std::chrono::seconds;

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(SALLYPORT_SOURCE_DIR) + "/policies/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Program> shipped(const std::string& name) {
  const std::vector<Source> sources{{name, text_of(name), Tier::user}};
  auto compiled = compile_and_check(sources);
  for (const auto& found : compiled.diagnostics) ADD_FAILURE() << found.format();
  return compiled.program;
}

struct Row {
  const char* asked;
  Action what;
  const char* answer;
  Facts settings = known_settings();
  Subject who = agent();
};

void check(const std::string& policy, const std::vector<Row>& table) {
  const auto program = shipped(policy);
  ASSERT_TRUE(program);
  for (const auto& row : table) {
    const auto judgement = judge(*program, row.what, row.settings, row.who);
    EXPECT_EQ(said(judgement), row.answer) << policy << ": " << row.asked << " (" << judgement.reason << ")";
    if (judgement.effect == Effect::deny) {
      EXPECT_FALSE(judgement.reason.empty()) << row.asked;
    }
  }
}

Facts with(std::string name, FactValue value) {
  auto settings = known_settings();
  settings.insert_or_assign(std::move(name), std::move(value));
  return settings;
}

Action copy_in(const char* from, const char* to, std::uint64_t bytes = 10, std::uint64_t files = 1) {
  return CopyIn{box(), host(from), guest(to), survey(files, bytes)};
}
Action fetch(const char* from, const char* to) { return FetchOut{box(), guest(from), host(to)}; }
Action publish(const char* from, const char* to) {
  return PublishOut{box(), guest(from), host(to), survey(1, 10)};
}

TEST(DefaultPolicy, DecidesAsItsTableSays) {
  check("default.yaml",
        {
            {"a machine without network", Create{Network::none}, "allow create"},
            {"a web machine, web not set up", Create{Network::web}, "deny web-off"},
            {"a web machine, web set up", Create{Network::web}, "allow create-web", with("web", true)},
            {"a nat machine", Create{Network::nat}, "deny nat-off"},
            {"a nat machine, web set up", Create{Network::nat}, "deny nat-off", with("web", true)},
            {"a nat machine, at the command line", Create{Network::nat}, "deny nat-off", known_settings(),
             person()},
            {"the list", List{}, "allow use"},
            {"a command", policy::Run{box(), "rm -rf /", seconds(60)}, "allow use"},
            {"a background command", Start{box(), "sleep 9"}, "allow use"},
            {"looking after it", Check{box(), job()}, "allow use"},
            {"stopping it", Stop{box(), job()}, "allow use"},
            {"a file in", copy_in("a", "/tmp/a"), "allow bring"},
            {"a hidden file in", copy_in(".env", "/tmp/a"), "allow bring"},
            {"the whole transfer folder in", copy_in(".", "/tmp/a"), "allow bring"},
            {"a file out, into staging", fetch("/etc/passwd", "out"), "allow take"},
            {"a file out, published", publish("/etc/passwd", "out"), "allow take"},
            {"the screen", Screenshot{box()}, "allow use"},
            {"a click, input off", Click{box()}, "deny input-off"},
            {"typing, input off", TypeText{box(), "x"}, "deny input-off"},
            {"a key, input off", PressKey{box(), "Return"}, "deny input-off"},
            {"a click, input on", Click{box()}, "allow input", with("remote_input", true)},
            {"typing, input on", TypeText{box(), "x"}, "allow input", with("remote_input", true)},
            {"a key, input on", PressKey{box(), "Return"}, "allow input", with("remote_input", true)},
            {"a click, the setting unknown", Click{box()}, "deny input-off", Facts{}},
            {"a web machine, the setting unknown", Create{Network::web}, "deny web-off", Facts{}},
            {"more time", Extend{box(), seconds(600)}, "allow use"},
            {"the end", Destroy{box()}, "allow use"},
            {"an image, by an agent", BuildImage{"x"}, "deny default"},
            {"an image, by a person", BuildImage{"x"}, "allow images", known_settings(), person()},
            {"the kill switch, by an agent", KillSwitch{}, "deny default"},
            {"the kill switch, by a person", KillSwitch{}, "allow builtin:kill-switch", known_settings(),
             person()},
            {"cleaning up", Destroy{box(), DestroyCause::expired}, "allow builtin:own-cleanup",
             known_settings(), system_subject()},
            {"vmrun start of a sandbox", Vmrun{VmrunVerb::start, "/x.vmx", {}, box()}, "allow builtin:vmrun"},
            {"vmrun stop of the base", Vmrun{VmrunVerb::stop, "/base.vmx", {}, {}},
             "deny builtin:base-is-read-only"},
        });
}

TEST(DefaultPolicy, ShowsTheLineThatWouldAllowNat) {
  const auto program = shipped("default.yaml");
  ASSERT_TRUE(program);
  const auto judgement = judge(*program, Create{Network::nat});
  const std::string line = "create-nat: { allow: create, network: nat }";
  ASSERT_NE(judgement.hint.find(line), std::string::npos) << judgement.hint;
  // What the hint says to do works.
  auto text = text_of("default.yaml");
  const auto from = text.find("  nat-off:"), to = text.find("  use:");
  text = text.substr(0, from) + "  " + line + "\n" + text.substr(to);
  for (std::size_t at; (at = text.find("expect: deny nat-off")) != std::string::npos;) {
    text.replace(at, 20, "expect: allow create-nat");
  }
  const std::vector<Source> sources{{"own.yaml", text, {}}};
  const auto compiled = compile(sources);
  ASSERT_TRUE(compiled.program) << compiled.error().message;
  EXPECT_EQ(said(judge(*compiled.program, Create{Network::nat})), "allow create-nat");
}

TEST(DefaultPolicy, LowersTheTimeOfCommands) {
  const auto program = shipped("default.yaml");
  auto request = ask(policy::Run{box(), "x", seconds(86'400)});
  EXPECT_EQ(program->judge(request, known_settings()).effect, Effect::allow);
  EXPECT_EQ(std::get<policy::Run>(request.what).timeout, seconds(3'600));
}

TEST(DefaultPolicy, TakesLimitsFromTheSettings) {
  auto settings = known_settings();
  settings["max_sandboxes"] = std::int64_t{7};
  settings["max_age"] = std::int64_t{600};
  const auto compiled = load_default(settings);
  ASSERT_TRUE(compiled.program);
  std::int64_t machines = 0, age = 0, jobs = 0;
  for (const auto& limit : compiled.program->limits()) {
    if (limit.meter == Meter::sandboxes) machines = limit.max;
    if (limit.meter == Meter::sandbox_age) age = limit.max;
    if (limit.meter == Meter::jobs) jobs = limit.max;
  }
  EXPECT_EQ(machines, 7);
  EXPECT_EQ(age, 600);
  EXPECT_EQ(jobs, 8);
}

TEST(DefaultPolicy, IsTheOneKeptInTheProgram) { EXPECT_EQ(text_of("default.yaml"), default_policy_text()); }

TEST(LockedDownPolicy, DecidesAsItsTableSays) {
  const auto on = with("remote_input", true);
  check("locked-down.yaml",
        {
            {"a machine without network", Create{Network::none}, "allow create"},
            {"a web machine, web set up", Create{Network::web}, "deny no-network", with("web", true)},
            {"a nat machine", Create{Network::nat}, "deny no-network"},
            {"the list", List{}, "allow use"},
            {"a command", policy::Run{box(), "x", seconds(60)}, "allow use"},
            {"a background command", Start{box(), "x"}, "deny no-background"},
            {"a file in", copy_in("src/a.c", "/home/agent/a.c"), "allow bring"},
            {"a file to a system folder", copy_in("src/a.c", "/etc/a.c"), "deny default"},
            {"a file beside the home folder", copy_in("src/a.c", "/home/agent"), "deny default"},
            {"a secret in", copy_in("web/.env", "/tmp/x"), "deny no-secrets"},
            {"a key in", copy_in("home/.ssh/id_rsa", "/tmp/x"), "deny no-secrets"},
            {"a folder of keys in", copy_in("home/.ssh", "/tmp/x"), "deny no-secrets"},
            {"a hidden file in", copy_in(".bashrc", "/tmp/x"), "deny default"},
            {"more than 50 MiB in", copy_in("a", "/tmp/x", (50U << 20U) + 1), "deny default"},
            {"more than 1000 files in", copy_in("a", "/tmp/x", 1, 1001), "deny default"},
            {"a file out", fetch("/tmp/x", "x"), "deny no-exit"},
            {"a file out, second half", publish("/tmp/x", "x"), "deny no-exit"},
            {"the screen", Screenshot{box()}, "allow use"},
            {"a click, input on", Click{box()}, "deny default", on},
            {"typing, input on", TypeText{box(), "x"}, "deny default", on},
            {"more time", Extend{box(), seconds(60)}, "deny default"},
            {"the end", Destroy{box()}, "allow use"},
            {"cleaning up", Destroy{box(), DestroyCause::expired}, "allow builtin:own-cleanup",
             known_settings(), system_subject()},
        });
}

TEST(ReadOnlyPolicy, DecidesAsItsTableSays) {
  check("read-only.yaml",
        {
            {"the list", List{}, "allow look"},
            {"looking after a job", Check{box(), job()}, "allow look"},
            {"the screen", Screenshot{box()}, "allow look"},
            {"a machine", Create{}, "deny no-change"},
            {"a command", policy::Run{box(), "x", seconds(60)}, "deny no-change"},
            {"a background command", Start{box(), "x"}, "deny no-change"},
            {"stopping a job", Stop{box(), job()}, "deny no-change"},
            {"a file in", copy_in("a", "/tmp/a"), "deny no-change"},
            {"a file out", fetch("/tmp/a", "a"), "deny no-change"},
            {"a file out, second half", publish("/tmp/a", "a"), "deny no-change"},
            {"a key, input on", PressKey{box(), "a"}, "deny no-change", with("remote_input", true)},
            {"more time", Extend{box(), seconds(60)}, "deny no-change"},
            {"an image, by a person", BuildImage{"x"}, "deny no-change", known_settings(), person()},
            {"the end, by an agent", Destroy{box()}, "deny no-destroy"},
            {"the end, by a person", Destroy{box()}, "allow end", known_settings(), person()},
            {"cleaning up", Destroy{box(), DestroyCause::expired}, "allow builtin:own-cleanup",
             known_settings(), system_subject()},
        });
}

TEST(CiPolicy, DecidesAsItsTableSays) {
  auto job_of = [](const char* subject) {
    Subject who;
    who.principal = PrincipalId{"token"};
    who.transport = Transport::http;
    who.token = Token{"https://ci.example", subject, {}};
    return who;
  };
  const auto job_here = job_of("repo:acme/web");
  const auto web = with("web", true);
  const auto online = [](const char* method, const char* url) {
    return Action(fetch_of(box(), method, *parse_url(url)));
  };
  check(
      "ci.yaml",
      {
          {"a machine", Create{}, "allow create", known_settings(), job_here},
          {"a machine, by nobody known", Create{}, "deny default"},
          {"a machine, by a job of others", Create{}, "deny default", known_settings(),
           job_of("repo:x/acme")},
          {"a web machine, web not set up", Create{Network::web}, "deny default", known_settings(), job_here},
          {"a web machine", Create{Network::web}, "allow create-web", web, job_here},
          {"a nat machine", Create{Network::nat}, "deny default", web, job_here},
          {"a command", policy::Run{box(), "make", seconds(60)}, "allow use", web, job_here},
          {"the sources", copy_in("src", "/home/agent/src"), "allow bring", web, job_here},
          {"a credential", copy_in("home/.netrc", "/tmp/x"), "deny no-secrets", web, job_here},
          {"a report, second half", publish("/tmp/a", "reports/a"), "allow take", web, job_here},
          {"the sources out", publish("/tmp/a", "src/a"), "deny default", web, job_here},
          {"a package", online("GET", "https://a.mirror.example.org/x"), "allow packages", web, job_here},
          {"a package, to write", online("PUT", "https://a.mirror.example.org/x"), "deny default", web,
           job_here},
          {"a page", online("GET", "https://example.org/"), "deny default", web, job_here},
          {"a click", Click{box()}, "deny default", with("remote_input", true), job_here},
          {"an image", BuildImage{"x"}, "deny default", web, job_here},
          {"the end, by a person", Destroy{box()}, "allow use", web, person()},
      });
}

TEST(OutboundQuarantinePolicy, LetsNothingOutButReportsAndHashes) {
  const auto web = with("web", true);
  const auto online = [](const char* method, const std::string& url) {
    return Action(fetch_of(box(), method, *parse_url(url)));
  };
  check("outbound-quarantine.yaml",
        {
            {"a web machine", Create{Network::web}, "allow create-web", web},
            {"a nat machine", Create{Network::nat}, "deny no-nat", web},
            {"a sample in", copy_in("samples/a.exe", "/home/agent/a.exe"), "allow bring"},
            {"a report", publish("/tmp/a", "reports/a.md"), "allow reports"},
            {"the folder of reports itself", publish("/tmp/a", "reports"), "deny held-back"},
            {"hashes", publish("/tmp/a", "dist/SHA256SUMS"), "allow hashes"},
            {"the sample out", publish("/tmp/a", "samples/a.exe"), "deny held-back"},
            {"the sample out, first half", fetch("/tmp/a", "samples/a.exe"), "deny held-back"},
            {"a page", online("GET", "https://example.org/a"), "allow read", web},
            {"a form", online("POST", "https://example.org/a"), "deny default", web},
            {"a long query", online("GET", "https://example.org/a?" + std::string(300, 'x')), "deny no-query",
             web},
            {"a tunnel", tunnel_of(box(), *Host::parse("example.org"), 443, Tunnel::Sight::opaque),
             "deny no-query", web},
        });
  const auto program = shipped("outbound-quarantine.yaml");
  ASSERT_TRUE(program);
  auto made = judge(*program, Create{Network::web}, web);
  EXPECT_EQ(made.labels, (Labels{{"was-online", Tier::user}}));
  auto request = ask(publish("/tmp/a", "reports/a.md"));
  request.sandbox->labels = made.labels;
  EXPECT_EQ(said(program->judge(request, web)), "ask was-online");
}

}  // namespace
}  // namespace policy
