// What the stand-in reads of a machine's files: snapshot records, descriptions of saved states, heads of disk
// images.
#include <cstdint>
#include <string_view>

#include "property.h"
#include "vmware/standin/qcow2.h"
#include "vmware/standin/saved_state.h"
#include "vmware/standin/snapshots.h"
#include "vmware/standin/variables.h"

namespace {

using fuzz::require;

void whatever_the_records_say(std::string_view bytes) {
  const auto tree = standin::SnapshotTree::parse(bytes);
  if (!tree) return;
  require(tree->snapshots.size() <= standin::SnapshotTree::kMax);
  for (const auto& snapshot : tree->snapshots) {
    // Each of these is opened beside the .vmx.
    require(standin::is_plain_name(snapshot.disk));
    require(snapshot.memory.empty() || standin::is_plain_name(snapshot.memory));
    require(snapshot.clones.size() <= standin::SnapshotTree::kMaxClones);
    const auto chain = tree->chain(snapshot.uid);
    require(!chain || chain->size() <= tree->snapshots.size() + 1);
    require(tree->subtree(snapshot.uid).size() <= 2 * tree->snapshots.size() + 1);
  }
  require(!tree->pending || standin::is_plain_name(tree->pending->disk));
  (void)tree->listing(true);
  const auto again = standin::SnapshotTree::parse(tree->write("m"));
  require(!again || again->snapshots.size() == tree->snapshots.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  whatever_the_records_say(text);
  if (const auto state = standin::SavedState::parse(text)) {
    require(standin::is_plain_name(state->memory));
    require(state->address.find('\n') == std::string::npos);
    const auto again = standin::SavedState::parse(state->write().value());
    require(again && *again == *state);
  }
  if (standin::qcow2_stands_alone(text)) require(standin::qcow2_size(text).has_value());
  if (const auto variables = standin::Variables::parse(text)) {
    (void)standin::Variables::parse(variables->write());
  }
  return 0;
}
