#include "policy/yaml.h"

namespace policy::yaml {
namespace {

void write_scalar(const Node& node, std::string& out) {
  if (!node.quoted) {
    out += node.text;
    return;
  }
  out.push_back('"');
  for (const char c : node.text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out.push_back(c);
    }
  }
  out.push_back('"');
}

// Writes what follows `key:` or `-`, line end included.
void write_value(const Node& node, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  switch (node.kind) {
    case Node::Kind::scalar:
      out.push_back(' ');
      write_scalar(node, out);
      out.push_back('\n');
      return;
    case Node::Kind::list:
      if (node.items.empty()) {
        out += " []\n";
        return;
      }
      out.push_back('\n');
      for (const auto& item : node.items) {
        out += margin + "-";
        write_value(item, indent + 2, out);
      }
      return;
    case Node::Kind::map:
      if (node.entries.empty()) {
        out += " {}\n";
        return;
      }
      out.push_back('\n');
      for (const auto& entry : node.entries) {
        out += margin + entry.key + ":";
        write_value(entry.value, indent + 2, out);
      }
      return;
  }
}

}  // namespace

std::string write(const Node& root) {
  if (root.entries.empty()) return "{}\n";
  std::string out;
  for (const auto& entry : root.entries) {
    out += entry.key + ":";
    write_value(entry.value, 2, out);
  }
  return out;
}

}  // namespace policy::yaml
