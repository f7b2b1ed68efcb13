#include "policy/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "policy/utf8.h"
#include "policy/yaml_scalar.h"
#include "policy/yaml_text.h"

namespace policy::yaml {
namespace {

constexpr const char* kAlias =
    "a word that begins with `*` is an alias, which is not part of this language; quote it, or use a set";

constexpr std::size_t kMaxKey = 128;

// Ends the parsing; what was wrong has been reported.
struct Stop {};

bool is_key(std::string_view text) {
  if (text.empty() || text.size() > kMaxKey) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || c == '-' || c == '.'; });
}

// Builds the tree from the parser's events and reports what the subset does not have. After an error it goes
// on where it can, so that one run shows all of them; the tree is then worthless.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, Lines& lines, std::string_view file, Diagnostics& into)
      : text_(text), lines_(lines), file_(file), into_(into) {}

  std::optional<Node> take() { return std::exchange(root_, std::nullopt); }

  // Hands over what was found. A missing value right before a syntax error is that error seen from before.
  void report(bool syntax_failed) {
    if (syntax_failed && !found_.empty() && found_.back().code == "Y0117") found_.pop_back();
    for (auto& found : found_) into_.error(std::move(found.code), file_, found.at, std::move(found.message));
    found_.clear();
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    error("Y0109", position(mark), "a second document begins here; a file holds one");
    throw Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_properties(mark, "?", anchor);
    if (expects_key()) {
      error("Y0114", position(mark), "a key must be a plain word");
      take_key("", position(mark));
      return;
    }
    if (!stack_.empty() && stack_.back().node->kind == Node::Kind::map) {
      error("Y0117", stack_.back().node->entries.back().at,
            "`" + stack_.back().node->entries.back().key +
                "` has no value; write [] if you mean none, or quote the word");
    } else {
      error("Y0117", position(mark), "there is no value here; remove it, or quote the word");
    }
    place(Node::Kind::scalar, position(mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    error("Y0111", position(mark), kAlias);
    if (expects_key()) {
      take_key("", position(mark));
    } else {
      place(Node::Kind::scalar, position(mark));
    }
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_properties(mark, tag, anchor);
    const bool quoted = tag == "!";
    if (expects_key()) {
      check_key(value, quoted, mark);
      take_key(value, position(mark));
      return;
    }
    check_characters(value, position(mark));
    if (!quoted) {
      if (auto trap = plain_scalar_trap(value)) error(trap->code, position(mark), std::move(trap->message));
    }
    auto& node = place(Node::Kind::scalar, position(mark));
    node.text = value;
    node.quoted = quoted || value.find('\n') != std::string::npos;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { stack_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { stack_.pop_back(); }

  std::size_t documents() const { return documents_; }

  std::size_t offset(const YAML::Mark& mark) const {
    return mark.pos < 0 ? 0 : std::min(static_cast<std::size_t>(mark.pos), text_.size());
  }

 private:
  struct Frame {
    Node* node;
    bool wants_key;
    std::unordered_set<std::string> keys;
  };

  Position position(const YAML::Mark& mark) { return lines_.at(offset(mark)); }
  char character(const YAML::Mark& mark) const {
    return offset(mark) < text_.size() ? text_[offset(mark)] : '\0';
  }
  void error(std::string_view code, Position at, std::string message) {
    if (found_.size() == Diagnostics::kMax) throw Stop{};
    found_.push_back({Severity::error, std::string(code), std::string(file_), at, std::move(message)});
  }

  bool expects_key() const { return !stack_.empty() && stack_.back().wants_key; }

  void check_properties(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    const bool written = character(mark) == '!' && tag != "?";
    if (written || (!tag.empty() && tag != "?" && tag != "!")) {
      error("Y0112", position(mark), "tags (`!`) are not part of this language; remove it");
    }
    if (anchor != YAML::NullAnchor) {
      error("Y0110", position(mark), "anchors (`&`) are not part of this language; use a set");
    }
  }

  void check_characters(std::string_view value, Position at) {
    while (!value.empty()) {
      const auto point = take_code_point(value);
      if (!point || forbidden(*point)) {
        error("Y0122", at, "an escape in this text stands for a character that may not be used");
        return;
      }
    }
  }

  void check_key(const std::string& key, bool quoted, const YAML::Mark& mark) {
    if (key == "<<" && !quoted) {
      error("Y0113", position(mark), "merge keys (`<<`) are not part of this language; use a set");
    } else if (explicit_key(offset(mark))) {
      error("Y0114", position(mark), "keys written with `?` are not part of this language");
    } else if (quoted || !is_key(key)) {
      error("Y0115", position(mark),
            "a key must be a plain word of letters, digits, `_`, `-` and `.`, without quotes");
    } else if (!stack_.back().keys.insert(key).second) {
      const auto* first = stack_.back().node->find(key);
      error("Y0116", position(mark),
            "the key `" + key + "` is repeated; it stands in line " + std::to_string(first->at.line) +
                " already");
    }
  }

  // Is the key at this offset led in by a `?`?
  bool explicit_key(std::size_t at) const {
    while (at > 0 && text_[at - 1] == ' ') --at;
    return at > 0 && text_[at - 1] == '?';
  }

  void take_key(const std::string& key, Position at) {
    auto& frame = stack_.back();
    count(at);
    frame.node->entries.push_back(Entry{key, at, Node{}});
    frame.wants_key = false;
  }

  void count(Position at) {
    if (++nodes_ <= kMaxNodes) return;
    error("Y0121", at, "the file has more than " + std::to_string(kMaxNodes) + " values; split it");
    throw Stop{};
  }

  Node& place(Node::Kind kind, Position at) {
    count(at);
    Node* node = nullptr;
    if (stack_.empty()) {
      node = &root_.emplace();
    } else if (auto& frame = stack_.back(); frame.node->kind == Node::Kind::list) {
      node = &frame.node->items.emplace_back();
    } else {
      frame.wants_key = true;
      node = &frame.node->entries.back().value;
    }
    node->kind = kind;
    node->at = at;
    return *node;
  }

  void open(Node::Kind kind, const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    check_properties(mark, tag, anchor);
    const auto at = position(mark);
    if (expects_key()) {
      error("Y0114", at, "a key must be a plain word, not a list or a map");
      throw Stop{};
    }
    if (stack_.size() >= kMaxDepth) {
      error("Y0120", at, "values are nested more than " + std::to_string(kMaxDepth) + " deep");
      throw Stop{};
    }
    auto& node = place(kind, at);
    // The node stays where it is while its frame is on the stack: only the innermost vector grows.
    stack_.push_back({&node, kind == Node::Kind::map, {}});
  }

  std::string_view text_;
  Lines& lines_;
  std::string_view file_;
  Diagnostics& into_;
  std::vector<Diagnostic> found_;
  std::optional<Node> root_;
  std::vector<Frame> stack_;
  std::size_t documents_ = 0;
  std::size_t nodes_ = 0;
};

void report_syntax(const YAML::Exception& failure, std::string_view text, const Builder& builder,
                   Lines& lines, std::string_view file, Diagnostics& into) {
  const auto offset = builder.offset(failure.mark);
  if (offset < text.size() && text[offset] == '*') {
    into.error("Y0111", file, lines.at(offset), kAlias);
    return;
  }
  into.error("Y0100", file, lines.at(offset),
             "this is not YAML: " + failure.msg +
                 "; a quote, bracket, colon or indent here or on a line above is wrong");
}

void parse(std::string_view text, Lines& lines, std::string_view file, Diagnostics& into, Builder& builder) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.report(false);
  } catch (const Stop&) {
    builder.report(false);
  } catch (const YAML::Exception& failure) {
    builder.report(true);
    report_syntax(failure, text, builder, lines, file, into);
  } catch (const std::exception&) {
    into.error("Y0100", file, {1, 1}, "the file cannot be read as YAML");
  }
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

bool Node::operator==(const Node& other) const {
  return kind == other.kind && quoted == other.quoted && at == other.at && text == other.text &&
         items == other.items && entries == other.entries;
}

std::optional<Node> read(std::string_view text, std::string_view file, Diagnostics& into) {
  const auto before = into.errors();
  Lines lines(text);
  if (!check_text(text, lines, file, into)) return std::nullopt;
  Builder builder(text, lines, file, into);
  parse(text, lines, file, into, builder);
  if (into.errors() != before) return std::nullopt;
  auto root = builder.take();
  if (!root) into.error("Y0108", file, {1, 1}, "the file is empty");
  return root;
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.quoted != b.quoted || a.text != b.text || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key != b.entries[i].key || !same(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

}  // namespace policy::yaml
