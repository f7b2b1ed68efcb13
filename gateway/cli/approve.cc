#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/cli/printable.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/deployment.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"

namespace gateway::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxAnswer = std::size_t{16} << 20;
constexpr std::chrono::seconds kPatience{10};

// Under sudo, the socket of the user who said so; else empty.
std::string socket_behind_sudo(const Sources& sources, const Settings& settings) {
  const auto behind = sources.environment.find("SUDO_UID");
  if (own_user() != 0 || behind == sources.environment.end() || settings.state_named == Switch::on) return {};
  std::uint32_t user = 0;
  const auto& text = behind->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error != std::errc() || end != text.data() + text.size() || user == 0) return {};
  const auto home = home_of(user);
  if (home.empty()) return {};
  Settings theirs;
  theirs.state_dir = home + "/.local/state/sallyport";
  return theirs.socket_path();
}

// Nobody asks anything where no owner runs, so none is started for this.
Result<Descriptor> reach(const Sources& sources, const Settings& settings) {
  auto service = find_service(settings, kServiceSocket, {});
  if (!service) return tl::unexpected(service.error());
  if (*service) return std::move(**service);
  auto path = socket_behind_sudo(sources, settings);
  if (path.empty() && settings.state_dir.empty()) {
    return policy::fail("settings.state_dir", "no place for state; set `state_dir`");
  }
  if (path.empty()) path = settings.socket_path();
  auto owner = connect_unix(path);
  if (!owner) {
    return policy::fail("owner.absent",
                        "no owner process is running at `" + path +
                            "`, so nothing is asked; name its state folder with `--state-dir`");
  }
  return owner;
}

Result<Json> ask_desk(const Sources& sources, Hello::Kind kind, const std::string& question) {
  const auto settings = load_settings(sources);
  const auto owner = reach(sources, settings);
  if (!owner) return tl::unexpected(owner.error());
  const Hello hello{kind, SALLYPORT_VERSION, settings.digest.hex(), question};
  if (auto sent = send_greeting(owner->get(), hello.encode(), {}, kPatience); !sent)
    return tl::unexpected(sent.error());
  return read_answer(*owner, kMaxAnswer, kPatience);
}

}  // namespace

int approve_list(const Sources& sources, bool json) {
  const auto answer = ask_desk(sources, Hello::Kind::questions, {});
  if (!answer) return complain(answer.error());
  const auto questions = answer->find("questions");
  if (questions == answer->end() || !questions->is_array())
    return complain(policy::Error{"owner.answer", "the owner's answer is not what it should be"});
  if (json) {
    std::printf("%s\n", questions->dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
    return 0;
  }
  if (questions->empty()) std::printf("nothing is asked\n");
  for (const auto& one : *questions) {
    if (!one.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto at = one.find(key);
      return at != one.end() && at->is_string() ? printable_line(at->get_ref<const std::string&>())
                                                : std::string();
    };
    const auto left = one.find("seconds_left");
    const auto seconds = left != one.end() && left->is_number_integer() ? left->get<std::int64_t>() : 0;
    const auto arguments = one.find("arguments");
    std::printf("%s  %s for %s (%s), %lld s left\n", text("id").c_str(), text("action").c_str(),
                text("user").empty() ? text("asker").c_str() : text("user").c_str(), text("client").c_str(),
                static_cast<long long>(seconds));
    if (arguments != one.end()) {
      std::printf("  %s\n",
                  printable_line(arguments->dump(-1, ' ', false, Json::error_handler_t::replace)).c_str());
    }
    std::printf("  rule %s at %s asks %s%s%s\n", text("rule").c_str(), text("where").c_str(),
                text("asks").c_str(), text("why").empty() ? "" : ": ", text("why").c_str());
  }
  return 0;
}

int approve_answer(const Sources& sources, const std::string& question, ApproveAnswer answer) {
  const bool allow = answer == ApproveAnswer::allow;
  const auto done = ask_desk(sources, allow ? Hello::Kind::answer_allow : Hello::Kind::answer_deny, question);
  if (!done) return complain(done.error());
  std::printf(allow ? "approved, for one call with exactly these arguments\n" : "refused\n");
  return 0;
}

}  // namespace gateway::cli
