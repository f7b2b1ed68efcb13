// What programs in a guest print, and what a caller of the stand-in types: no byte of either makes a line of
// its own, or an answer without a limit.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "property.h"
#include "vmware/standin/command_line.h"
#include "vmware/standin/faults.h"
#include "vmware/standin/guest_text.h"
#include "vmware/standin/keystrokes.h"

namespace {

using fuzz::require;

void whatever_a_guest_prints(std::string_view bytes) {
  const std::string processes = standin::process_listing(bytes);
  require(processes.size() <= standin::kMaxListing + 64);
  std::string_view rest = processes;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find('\n');
    require(end != std::string_view::npos);
    require(rest.starts_with(first ? "Process list: " : "pid="));
    rest.remove_prefix(end + 1);
  }
  const std::string names = standin::directory_listing(bytes);
  const auto lines = std::count(names.begin(), names.end(), '\n');
  require(names.starts_with("Directory list: " + std::to_string(lines - 1) + "\n"));
  const std::string path = standin::printed_path(bytes);
  require(path.empty() || (path.front() == '/' && path.find('\n') == std::string::npos));
}

void whatever_a_caller_types(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty() && words.size() < 64) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    words.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  if (const auto line = standin::parse_command_line(words)) {
    const standin::Verb& verb = standin::verb_of(line->command);
    if (line->command != standin::Command::unsupported) {
      require(line->words.size() >= verb.min_words && line->words.size() <= verb.max_words);
      require(line->vmx.empty() == (verb.target == standin::Target::none));
    }
  } else {
    require(!line.error().code.empty());
  }
  if (!words.empty()) {
    (void)standin::Faults::parse(words[0]);
    if (const auto keys = standin::keys_for(words[0])) require(keys->size() == words[0].size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  whatever_a_guest_prints(text);
  whatever_a_caller_types(text);
  return 0;
}
