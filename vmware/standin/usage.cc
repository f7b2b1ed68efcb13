#include <array>
#include <utility>

#include "vmware/standin/texts.h"
#include "vmware/standin/vocabulary.h"

namespace standin {
namespace {

constexpr std::size_t kColumn = 26;

constexpr std::string_view kFlags =
    "\nFlags stand before the command.\n\n"
    "   -T ws                  the host type; there is no other\n"
    "   -vp PASSWORD           of an encrypted machine; taken and not used\n"
    "   -gu USER -gp PASSWORD  the guest's login\n";

constexpr std::pair<Group, std::string_view> kHeadings[] = {
    {Group::power, "POWER COMMANDS"},
    {Group::snapshots, "SNAPSHOT COMMANDS"},
    {Group::guest, "GUEST OS COMMANDS"},
    {Group::general, "GENERAL COMMANDS"},
};

constexpr std::string_view kExamples =
    "\nExamples:\n"
    "   vmrun -T ws list\n"
    "   vmrun -T ws clone /vm/base/base.vmx /vm/one/one.vmx linked -snapshot=clean -cloneName=one\n"
    "   vmrun -T ws start /vm/one/one.vmx nogui\n"
    "   vmrun -T ws -gu USER -gp PASSWORD runProgramInGuest /vm/one/one.vmx /bin/ls /\n";

std::string padded(std::string_view text) {
  std::string out = "   " + std::string(text);
  out.resize(std::max(out.size() + 1, kColumn), ' ');
  return out;
}

}  // namespace

std::string usage_text() {
  std::string text = "\n\nvmrun version " + std::string(texts::kVersion) +
                     "\n\nUsage: vmrun [FLAGS] COMMAND [PARAMETERS]\n" + std::string(kFlags);
  for (const auto& [group, heading] : kHeadings) {
    text += "\n" + std::string(heading) + "\n" + std::string(heading.size(), '-') + "\n";
    for (const Verb& verb : vocabulary()) {
      if (verb.group != group) continue;
      std::string words = verb.target == Target::machine ? "Path-to-vmx" : "";
      if (!verb.words.empty()) words += (words.empty() ? "" : " ") + std::string(verb.words);
      text +=
          padded(verb.name) + words + "\n" + std::string(kColumn + 3, ' ') + std::string(verb.purpose) + "\n";
    }
  }
  return text + std::string(kExamples);
}

}  // namespace standin
