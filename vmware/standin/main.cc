#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "vmware/standin/commands.h"
#include "vmware/standin/credential.h"
#include "vmware/standin/launch.h"
#include "vmware/standin/posture.h"
#include "vmware/standin/texts.h"

namespace {

constexpr int kFailed = 255;
constexpr standin::Millis kHang{3600000};

int print_credential(const std::string& user) {
  std::string password;
  std::getline(std::cin, password);
  const auto credential = standin::Credential::make(user, password);
  if (!credential) {
    std::cerr << credential.error().message << "\n";
    return 1;
  }
  std::cout << credential->write();
  return 0;
}

int report(const policy::Error& error, bool exit_0) {
  if (!error.message.empty()) std::cout << "Error: " << error.message << "\n";
  if (error.code.starts_with("usage")) std::cout << standin::usage_text();
  return exit_0 ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!words.empty() && words[0] == "--launch") {
    return standin::launcher_main({words.begin() + 1, words.end()});
  }
  if (words.size() == 2 && words[0] == "credential") return print_credential(words[1]);
  if (words.size() == 1 && words[0] == "posture") {
    std::cout << standin::posture() << std::flush;
    return std::cout ? 0 : kFailed;
  }
  std::signal(SIGPIPE, SIG_IGN);
  umask(077);

  auto line = standin::parse_command_line(words);
  auto faults = standin::Faults::parse(standin::environment("VMRUN_FAULT"));
  if (!faults) return report(faults.error(), false);
  if (!line) return report(line.error(), false);

  using Kind = standin::Faults::Kind;
  const auto command = line->command;
  if (const auto delay = faults->find(Kind::delay, command)) standin::pause_for(standin::Millis{*delay});
  if (const auto hang = faults->find(Kind::hang, command)) {
    standin::pause_for(*hang > 0 ? standin::Millis{*hang * 1000} : kHang);
  }
  if (faults->find(Kind::exit_255_no_text, command)) return kFailed;
  if (faults->find(Kind::usage_mixed, command)) std::cout << standin::usage_text();
  const bool exit_0 = faults->find(Kind::error_exit_0, command).has_value();

  const auto answer = standin::run_command({std::move(*line), std::move(*faults)});
  if (!answer) return report(answer.error(), exit_0);
  std::cout << answer->text << std::flush;
  return std::cout ? answer->exit_code : kFailed;
}
