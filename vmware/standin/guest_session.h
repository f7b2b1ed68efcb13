#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vmware/standin/commands.h"
#include "vmware/standin/guest_agent.h"

namespace standin {

// A guest operation from the login to its end. The agent serves one caller at a time; a session lets go of it
// while it waits for a long-running program, so that others get their turn.
class GuestSession final {
 public:
  static constexpr int kNoPort = 83;

  // The machine is on (`vm.off`) and its agent answers within `wait` (`vm.tools`). No login.
  static Result<GuestSession> open(const Call& call, Millis wait);
  // And user and password are those of the guest (`guest.login` after a second, `guest.anonymous`).
  static Result<GuestSession> open_as_user(const Call& call);

  // Runs a shell text as the user of the session, with `words` as its positional parameters and `input` on
  // its standard input, until it ends or the machine does.
  Result<GuestExit> run(const char* shell_text, const std::vector<std::string>& words,
                        std::string_view input);

  // The same in pieces. With the port, descriptor 3 of the shell is `kCopyPort`; a guest without it ends with
  // `kNoPort`.
  enum class Port { none, copy };
  Result<std::int64_t> start(const char* shell_text, const std::vector<std::string>& words,
                             std::string_view input, Port port);
  Result<std::optional<GuestExit>> poll(std::int64_t pid);
  Result<GuestExit> wait(std::int64_t pid);
  // Lets others speak to the agent; the next call connects anew.
  void let_go() { agent_.reset(); }

  Result<std::string> address();
  const RuntimeEntry& entry() const { return entry_; }

 private:
  GuestSession(RuntimeEntry entry, std::string path, GuestAgent agent)
      : entry_(std::move(entry)), path_(std::move(path)), agent_(std::move(agent)) {}
  Result<> reconnect();
  policy::Error lost() const;

  RuntimeEntry entry_;
  std::string path_;  // of the .vmx, for messages
  std::string user_;
  std::optional<GuestAgent> agent_;
};

// Whether this machine's Tools ever answered.
bool tools_were_seen(const std::string& vmx);

}  // namespace standin
