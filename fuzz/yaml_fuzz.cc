// The strict YAML reader and the policy compiler on any bytes. What is accepted must read the same when it is
// written out again, what is refused must say where, and neither may take more than its limits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "policy/compile.h"
#include "policy/layout.h"
#include "policy/yaml.h"
#include "property.h"

namespace {

using policy::yaml::Node;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

std::size_t check_shape(const Node& node, std::size_t depth) {
  demand(depth <= policy::yaml::kMaxDepth + 1, "depth is limited");
  std::size_t nodes = 1;
  for (const auto& item : node.items) nodes += check_shape(item, depth + 1);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    demand(node.find(node.entries[i].key) == &node.entries[i], "no key is repeated");
    nodes += check_shape(node.entries[i].value, depth + 1);
  }
  return nodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // SAFETY: char and unsigned char have the same size and alignment, and may alias.
  const auto text = fuzz::text_of(bytes, size);

  policy::Diagnostics into;
  const auto root = policy::yaml::read(text, "f", into);
  const bool failed = into.has_errors();
  const auto found = into.take();
  demand(root.has_value() != failed, "a tree or an error, never both, never neither");
  demand(found.size() <= policy::Diagnostics::kMax, "findings are limited");
  for (const auto& diagnostic : found) {
    demand(diagnostic.at.line >= 1 && diagnostic.at.column >= 1 && !diagnostic.code.empty(),
           "a finding has a place and a code");
    (void)diagnostic.format(text);
  }
  if (root) demand(check_shape(*root, 1) <= policy::yaml::kMaxNodes + 1, "values are limited");
  if (root && root->kind == Node::Kind::map) {
    const auto written = policy::yaml::write(*root);
    policy::Diagnostics again;
    const auto second = policy::yaml::read(written, "w", again);
    if (!second && written.size() <= policy::yaml::kMaxBytes) {
      std::fprintf(stderr, "%s\n%s\n", again.take().front().format().c_str(), written.c_str());
    }
    if (written.size() <= policy::yaml::kMaxBytes)
      demand(second && policy::yaml::same(*root, *second), "written text reads as the same tree");
  }

  policy::Diagnostics of_layout;
  const auto laid = policy::layout(text, "f", of_layout);
  demand(laid.has_value() == root.has_value(), "what can be read can be laid out");
  if (laid) {
    policy::Diagnostics again;
    const auto tree = policy::yaml::read(*laid, "l", again);
    demand(tree && policy::yaml::same(*root, *tree), "the layout means the same");
    demand(policy::layout(*laid, "l", again) == laid, "the layout of a layout is itself");
  }

  const std::vector<policy::Source> sources{{"f", std::string(text), {}}};
  const auto compiled = policy::compile(sources);
  bool errors = false;
  for (const auto& diagnostic : compiled.diagnostics)
    errors = errors || diagnostic.severity == policy::Severity::error;
  demand((compiled.program != nullptr) != errors, "a program or an error");
  if (compiled.program) {
    policy::Request request{
        policy::system_subject(),
        std::nullopt,
        policy::Create{policy::Network::nat},
        {*policy::CallId::parse("call-00000000000000000000000000000000"), "", std::nullopt}};
    request.who.transport = policy::Transport::stdio;
    const auto once = compiled.program->judge(request, policy::known_settings());
    const auto twice = compiled.program->judge(request, policy::known_settings());
    demand(once.effect == twice.effect && once.rule == twice.rule, "the same question gets the same answer");
  }
  return 0;
}
