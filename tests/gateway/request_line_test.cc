// Lines of `check request`: each gets one answer, and nothing malformed gets an allow.
#include "gateway/cli/request_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gateway::cli {
namespace {

using nlohmann::json;

constexpr char kPolicy[] = R"(sallyport: policy/v1
tier: user
name: mine
default: deny
subjects:
  alice: { os_user: alice }
  ci: { transport: http, token: { issuer: "https://ci.example", subject: "repo:acme/*" } }
actions:
  make: { allow: create, network: none }
  make-web: { allow: create, network: web, when: { settings.web: true } }
  bring: { allow: copy_in, host_path: "transfer:src/**", bytes: { max: 1MiB } }
  use: { allow: run, timeout: { max: 10m }, for: alice }
  marked: { deny: run, sandbox: { labels: [secret] } }
  keys: { allow: key, keys: { not: { glob: "ctrl+*" } } }
  short: { allow: type, chars: { max: 3 } }
  point: { allow: click }
web:
  read: { allow: [GET, HEAD], hosts: "*.example.org", tls: inspect, label: online }
  upload: { allow: PUT, hosts: up.example.org, scheme: http, for: ci }
)";

json answer(const std::string& line) {
  const std::vector<policy::Source> sources{{"p.yaml", kPolicy, {}}};
  const auto studied = policy::study(sources);
  if (!studied.anatomy) return {};
  const auto text = answer_request(*studied.anatomy, policy::known_settings(), line);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return json::parse(text);
}

struct Row {
  const char* line;
  const char* effect;
  const char* rule;
  const char* code;
};

TEST(RequestLine, IsAnsweredByTheRules) {
  const Row table[] = {
      {R"({"id":1,"action":"create"})", "allow", "make", "allow"},
      {R"({"id":1,"action":"create","args":{"network":"web"}})", "deny", "default", "deny.default"},
      {R"({"id":1,"action":"create","args":{"network":"web"},"facts":{"settings.web":true}})", "allow",
       "make-web", "allow"},
      {R"({"id":1,"action":"create","args":{"network":"web"},"facts":{"settings":{"web":true}}})", "allow",
       "make-web", "allow"},
      {R"({"id":1,"action":"copy_in","args":{"host_path":"src/a","guest_path":"/a"},"facts":{"bytes":1048576}})",
       "allow", "bring", "allow"},
      {R"({"id":1,"action":"copy_in","args":{"host_path":"src/a","guest_path":"/a"},"facts":{"bytes":1048577}})",
       "deny", "default", "deny.default"},
      {R"({"id":1,"action":"copy_in","args":{"host_path":"src/a","guest_path":"/a"},"facts":{"bytes":null}})",
       "deny", "default", "deny.default"},
      {R"({"id":1,"as":"alice","action":"run","args":{"command":"unknown","timeout":600}})", "allow", "use",
       "allow"},
      {R"({"id":1,"as":"alice","action":"run","args":{"command":"x","timeout":"601s"}})", "deny", "default",
       "deny.default"},
      {R"({"id":1,"session":{"os_user":"alice"},"action":"run","args":{"command":"x"}})", "allow", "use",
       "allow"},
      {R"({"id":1,"as":"alice","session":{"os_user":null},"action":"run","args":{"command":"x"}})", "deny",
       "default", "deny.default"},
      {R"({"id":1,"as":"alice","sandbox":{"labels":["secret"]},"action":"run","args":{"command":"x"}})",
       "deny", "marked", "deny.rule"},
      {R"({"id":1,"as":"alice","sandbox":{"owner":"alice"},"action":"run","args":{"command":"x"}})", "allow",
       "use", "allow"},
      {R"({"id":1,"as":"alice","sandbox":{"owner":"bob"},"action":"run","args":{"command":"x"}})", "deny",
       "builtin:own-sandboxes", "sandbox.unknown"},
      {R"({"id":1,"action":"key","args":{"keys":"Return"}})", "allow", "keys", "allow"},
      {R"({"id":1,"action":"key","args":{"keys":"ctrl+c"}})", "deny", "default", "deny.default"},
      {R"({"id":1,"action":"type","args":{"text":"äöü"}})", "allow", "short", "allow"},
      {R"({"id":1,"action":"type","args":{"text":"four"}})", "deny", "default", "deny.default"},
      {R"({"id":1,"action":"click","args":{"x":1,"y":2,"button":"left"}})", "allow", "point", "allow"},
      {R"({"id":1,"action":"vmrun","sandbox":{},"args":{"command":"start","vmx":"/c/c.vmx"}})", "allow",
       "builtin:vmrun", "allow"},
      {R"({"id":1,"action":"vmrun","args":{"command":"deleteVM","vmx":"/base.vmx"}})", "deny",
       "builtin:base-is-read-only", "deny.rule"},
      {R"({"id":1,"action":"fetch","args":{"method":"GET","url":"https://a.example.org/x?y"}})", "allow",
       "read", "allow"},
      {R"({"id":1,"action":"fetch","args":{"url":"https://a.example.org/"}})", "allow", "read", "allow"},
      {R"({"id":1,"action":"fetch","args":{"method":"POST","url":"https://a.example.org/"}})", "deny",
       "default", "deny.default"},
      {R"({"id":1,"action":"fetch","args":{"url":"https://example.org/"}})", "deny", "default",
       "deny.default"},
      {R"({"id":1,"action":"fetch","args":{"url":"https://a.example.org\u0000.example.org/"}})", "deny",
       "builtin:web-target", "web.control-byte"},
      {R"({"id":1,"action":"fetch","args":{"url":"https://a@a.example.org/"}})", "deny", "builtin:web-target",
       "web.userinfo"},
      {R"({"id":1,"action":"fetch","args":{"url":"http://2130706433/"}})", "deny", "builtin:web-target",
       "web.ambiguous-ipv4"},
      {R"({"id":1,"action":"fetch","args":{"url":"http://[::1]/"}})", "deny", "builtin:web-address",
       "web.loopback"},
      {R"({"id":1,"action":"fetch","args":{"url":"https://a.example.org/"},"facts":{"address":"10.0.0.1"}})",
       "deny", "builtin:web-address", "web.private"},
      {R"({"id":1,"action":"fetch","args":{"method":"PUT","url":"http://up.example.org/"},)"
       R"("session":{"transport":"http","token":{"issuer":"https://ci.example","subject":"repo:acme/web"}}})",
       "allow", "upload", "allow"},
      {R"({"id":1,"action":"fetch","args":{"method":"PUT","url":"http://up.example.org/"},)"
       R"("session":{"transport":"http","token":{"issuer":"https://ci.example","subject":"repo:x/web"}}})",
       "deny", "default", "deny.default"},
      {R"({"id":1,"action":"fetch","args":{"method":"PUT","url":"http://up.example.org/"},)"
       R"("session":{"transport":"http","token":null}})",
       "deny", "default", "deny.default"},
      {R"({"id":1,"as":"ci","action":"fetch","args":{"method":"PUT","url":"http://up.example.org/"}})",
       "allow", "upload", "allow"},
  };
  for (const auto& row : table) {
    const auto said = answer(row.line);
    EXPECT_EQ(said.value("id", 0), 1) << row.line;
    EXPECT_EQ(said.value("effect", ""), row.effect) << row.line << said;
    EXPECT_EQ(said.value("rule", ""), row.rule) << row.line << said;
    EXPECT_EQ(said.value("code", ""), row.code) << row.line << said;
    EXPECT_TRUE(said.contains("unknown") && said.contains("src") && said.contains("tier")) << said;
  }
}

TEST(RequestLine, IsRefusedWhenItIsMalformed) {
  const char* const table[] = {
      "",
      "x",
      "[]",
      "1",
      "{}",
      R"({"id":1})",
      R"({"id":1,"action":""})",
      R"({"id":1,"action":7})",
      R"({"id":[],"action":"create"})",
      R"({"id":1,"action":"create","action":"list"})",
      R"({"id":1,"action":"creat"})",
      R"({"id":1,"action":"any"})",
      R"({"id":1,"action":"create","arg":{}})",
      R"({"id":1,"action":"create","args":[]})",
      R"({"id":1,"action":"create","args":{"netwrok":"web"}})",
      R"({"id":1,"action":"create","args":{"network":"wob"}})",
      R"({"id":1,"action":"create","args":{"network":{"in":["web"]}}})",
      R"({"id":1,"action":"create","args":{"cpus":1.5}})",
      R"({"id":1,"action":"create","args":{"cpus":-1}})",
      R"({"id":1,"action":"create","args":{"command":"x"}})",
      R"({"id":1,"action":"create","args":{"as":"alice"}})",
      R"({"id":1,"action":"create","args":{"settings.web":true},"facts":{"settings.web":true}})",
      R"({"id":1,"action":"create","args":{"a.b.c.d.e":1}})",
      R"({"id":1,"action":"create","facts":{"settings.wob":true}})",
      R"({"id":1,"action":"create","facts":{"speed":1}})",
      R"({"id":1,"action":"create","as":"nobody"})",
      R"({"id":1,"action":"create","at":"soon"})",
      R"({"id":1,"action":"create","at":7})",
      R"({"id":1,"action":"create","session":{"transport":"pigeon"}})",
      R"({"id":1,"action":"create","session":{"transport":"system"}})",
      R"({"id":1,"action":"create","session":{"uid":-1}})",
      R"({"id":1,"action":"create","session":{"uid":4294967296}})",
      R"({"id":1,"action":"run","args":{"command":"x"},"sandbox":{"owner":7}})",
      R"({"id":1,"action":"run","args":{"command":"x"},"sandbox":{"colour":"red"}})",
      R"({"id":1,"action":"copy_in","args":{"host_path":"../x","guest_path":"/a"}})",
      R"({"id":1,"action":"fetch","args":{"url":7}})",
      R"({"id":1,"action":"fetch","args":{"url":"https://a.example.org/","host":"b.example.org"}})",
      R"({"id":1,"action":"fetch","args":{"uri":"https://a.example.org/"}})",
      R"({"id":1,"action":"fetch","args":{"url":"https://a.example.org/"},"facts":{"address":"10.1"}})",
      R"({"id":1,"action":"create","session":{"transport":"http","token":"x"}})",
      R"({"id":1,"action":"create","session":{"transport":"http","token":{"issuer":1}}})",
      R"({"id":1,"action":"create","session":{"transport":"http","token":{"sub":"x"}}})",
      R"({"id":1,"action":"vmrun","args":{"vmx":"/a.vmx"}})",
      R"({"id":1,"action":"vmrun","args":{"command":"explode","vmx":"/a.vmx"}})",
      R"({"id":1,"action":"vmrun","args":{"command":"start","vmx":"a.vmx"}})",
  };
  for (const std::string line : table) {
    const auto said = answer(line);
    EXPECT_EQ(said.value("effect", ""), "deny") << line;
    EXPECT_EQ(said.value("code", ""), "request.invalid") << line << said;
    EXPECT_FALSE(said.value("reason", "").empty()) << line;
  }
}

TEST(RequestLine, IsBounded) {
  EXPECT_EQ(answer("{\"id\":1,\"action\":\"" + std::string(kMaxRequestLine, 'x') + "\"}").value("code", ""),
            "request.invalid");
  EXPECT_EQ(answer(std::string(100'000, '[')).value("code", ""), "request.invalid");
  EXPECT_EQ(json::parse(answer_too_long()).value("code", ""), "request.invalid");
}

}  // namespace
}  // namespace gateway::cli
