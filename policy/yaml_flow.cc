#include "policy/yaml_flow.h"

#include "policy/yaml_scalar.h"

namespace policy::yaml {
namespace {

// Stands for itself inside `{ }` and `[ ]`.
bool plain(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (text.find_first_of(",[]{}#&*!|>'\"%@`\\\n\t") != std::string_view::npos) return false;
  if (text.find(": ") != std::string_view::npos) return false;
  const char first = text.front();
  return first != '-' && first != '?' && first != ':' && first != '=' && text.front() != '~';
}

// Quotes may be left out where the reader cannot take the text for anything but text.
bool may_lose_quotes(std::string_view text) {
  const bool letter = (text.front() >= 'a' && text.front() <= 'z') ||
                      (text.front() >= 'A' && text.front() <= 'Z') || text.front() == '/';
  return letter && text != "true" && text != "false" && text != "unknown" && !plain_scalar_trap(text);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

enum class Quotes { kept, where_needed };

std::string written(const Node& node, Quotes quotes);

std::string scalar(const Node& node, Quotes quotes) {
  const bool bare = plain(node.text);
  if (!node.quoted) return bare ? node.text : in_quotes(node.text);
  if (quotes == Quotes::where_needed && bare && may_lose_quotes(node.text)) return node.text;
  return in_quotes(node.text);
}

std::string written(const Node& node, Quotes quotes) {
  switch (node.kind) {
    case Node::Kind::scalar:
      return scalar(node, quotes);
    case Node::Kind::list: {
      std::string out;
      for (const auto& item : node.items) out += (out.empty() ? "" : ", ") + written(item, quotes);
      const bool of_maps = out.starts_with('{') || out.ends_with('}');
      return of_maps ? "[ " + out + " ]" : "[" + out + "]";
    }
    case Node::Kind::map: {
      if (node.entries.empty()) return "{}";
      std::string out = "{";
      for (const auto& entry : node.entries) {
        out += (out.size() > 1 ? ", " : " ") + entry.key + ": " + written(entry.value, quotes);
      }
      return out + " }";
    }
  }
  return {};
}

}  // namespace

std::string flow(const Node& node) { return written(node, Quotes::kept); }

std::string statement(const Node& node) { return written(node, Quotes::where_needed); }

}  // namespace policy::yaml
