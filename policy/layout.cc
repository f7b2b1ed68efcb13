#include "policy/layout.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "policy/yaml.h"

namespace policy {
namespace {

constexpr std::size_t kStep = 2;

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

std::string_view trimmed(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// What is open at a place in the text: quotes, and brackets around it.
struct Open {
  char quote = 0;
  int depth = 0;
  bool inside() const { return quote != 0 || depth > 0; }
};

// Where the key of `key: …` ends, at its colon; nothing when the text does not begin with one.
std::optional<std::size_t> key_end(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                        c == '_' || c == '-' || c == '.';
    if (letter) continue;
    const bool ends = c == ':' && i > 0 && (i + 1 == text.size() || text[i + 1] == ' ');
    return ends ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

// Writes one line's content with blanks in their places. Text in quotes, plain words and comments stay as
// they are.
class Content {
 public:
  Content(std::string_view text, Open& open) : text_(text), open_(open) {}

  std::string write() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (open_.quote != 0) {
        take_quoted(c);
      } else if (c == '#' && (at_ == 0 || text_[at_ - 1] == ' ')) {
        take_comment();
      } else if ((c == '"' || c == '\'') && begins_value()) {
        open_.quote = c;
        take();
      } else if (open_.depth > 0 || ((c == '{' || c == '[') && begins_value())) {
        take_flow(c);
      } else {
        take();
      }
    }
    return std::string(trimmed(out_));
  }

 private:
  void take() { out_.push_back(text_[at_++]); }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void drop_blanks() {
    while (out_.ends_with(' ')) out_.pop_back();
  }
  // A quote or bracket means something only where a value begins; elsewhere it is part of a word.
  bool begins_value() const {
    const auto before = out_.find_last_not_of(' ');
    if (before == std::string::npos) return true;
    const char c = out_[before];
    if (open_.depth > 0 && (c == '{' || c == '[' || c == ',')) return true;
    const bool blank = before + 1 < out_.size();
    return blank && (c == ':' || (c == '-' && before == 0));
  }
  void take_quoted(char c) {
    if (open_.quote == '"' && c == '\\' && at_ + 1 < text_.size()) take();
    const bool doubled = open_.quote == '\'' && c == '\'' && at_ + 1 < text_.size() && text_[at_ + 1] == '\'';
    if (doubled) {
      take();
    } else if (c == open_.quote) {
      open_.quote = 0;
    }
    take();
  }
  void take_comment() {
    // The distance to what stands before is its author's.
    out_.append(text_.substr(at_));
    at_ = text_.size();
  }
  void take_flow(char c) {
    switch (c) {
      case '{':
      case '[':
        ++open_.depth;
        take();
        skip_blanks();
        if (at_ < text_.size() && (c == '{' ? text_[at_] != '}' : text_[at_] == '{')) out_.push_back(' ');
        return;
      case '}':
      case ']':
        --open_.depth;
        drop_before_close(c);
        take();
        return;
      case ',':
        if (!std::string_view(trimmed(out_)).empty()) drop_blanks();
        take();
        skip_blanks();
        if (at_ < text_.size()) out_.push_back(' ');
        return;
      case ':':
        take();
        if (at_ < text_.size() && text_[at_] == ' ') {
          keep_gap_before_comment();
        }
        return;
      default:
        take();
    }
  }
  void drop_before_close(char c) {
    const auto before = out_.find_last_not_of(' ');
    if (before == std::string::npos) return;
    drop_blanks();
    if (c == '}' ? out_.back() != '{' : out_.back() == '}') out_.push_back(' ');
  }
  void keep_gap_before_comment() {
    const auto from = at_;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '#') {
      out_.append(text_.substr(from, at_ - from));
    } else {
      out_.push_back(' ');
    }
  }

  std::string_view text_;
  Open& open_;
  std::string out_;
  std::size_t at_ = 0;
};

class Layout {
 public:
  std::string run(std::string_view text) {
    for (const auto line : lines_of(text)) take(line);
    flush_comments(nullptr);
    if (!out_.empty() && block_) blanks_ = 0;
    return std::move(out_);
  }

 private:
  struct Level {
    std::size_t was, is;
    bool list;
  };
  struct Comment {
    std::size_t was;
    std::string text;
    bool after_blank;
  };

  void take(std::string_view line) {
    const auto content = trimmed(line);
    if (block_ && take_block(line)) return;
    if (open_.inside()) {
      shift(line);
    } else if (content.empty()) {
      ++blanks_;
    } else if (content.find_first_not_of(' ') != std::string_view::npos &&
               content[indent_of(content)] == '#') {
      comments_.push_back({indent_of(line), std::string(content.substr(indent_of(content))), blanks_ > 0});
      blanks_ = 0;
    } else {
      structure(line);
    }
  }

  // A line of a block scalar (`|`, `>`): everything further in than what holds it, and empty lines between.
  bool take_block(std::string_view line) {
    const auto content = trimmed(line);
    if (content.empty()) {
      pending_.push_back(line);
      return true;
    }
    const auto at = indent_of(line);
    if (at <= block_->was) {
      blanks_ += pending_.empty() ? 0 : 1;
      pending_.clear();
      block_.reset();
      block_base_.reset();
      return false;
    }
    if (!block_base_) block_base_ = at;
    const auto base = *block_base_;
    for (const auto blank : pending_) out_ += moved(blank, base) + "\n";
    pending_.clear();
    out_ += moved(line, base) + "\n";
    return true;
  }
  std::string moved(std::string_view line, std::size_t base) const {
    if (line.size() <= base && trimmed(line).empty()) return {};
    return std::string(block_->is + kStep, ' ') + std::string(line.substr(std::min(base, line.size())));
  }

  // A further line of something that began on one before: moves with it.
  void shift(std::string_view line) {
    if (open_.quote != 0) {
      // Blanks at its beginning are folded away by every reader.
      out_ += std::string(last_.is + kStep, ' ') +
              Content(trimmed(line).substr(indent_of(trimmed(line))), open_).write() + "\n";
      return;
    }
    const auto at = indent_of(line);
    const auto further = at > last_.was ? at - last_.was : kStep;
    const auto content = trimmed(line);
    if (content.empty()) {
      out_ += "\n";
      return;
    }
    const bool closes = content[indent_of(content)] == '}' || content[indent_of(content)] == ']';
    const auto margin = closes && at <= last_.was ? last_.is : last_.is + further;
    out_ += std::string(margin, ' ') + Content(content.substr(indent_of(content)), open_).write() + "\n";
  }

  void structure(std::string_view line) {
    const auto at = indent_of(line);
    auto content = trimmed(line).substr(at);
    const bool dash = content == "-" || content.starts_with("- ");
    if (!dash && !key_end(content)) {
      // A plain value that goes on from the line before.
      flush_comments(nullptr);
      out_ += std::string(last_.is + kStep, ' ') + std::string(content) + "\n";
      return;
    }
    while (!levels_.empty() &&
           (levels_.back().was > at || (levels_.back().was == at && levels_.back().list && !dash)))
      levels_.pop_back();
    if (levels_.empty()) {
      levels_.push_back({at, 0, dash});
    } else if (levels_.back().was < at || (dash && !levels_.back().list)) {
      levels_.push_back({at, levels_.back().is + kStep, dash});
    }
    auto level = levels_.back();
    flush_comments(&level);
    std::string text;
    std::size_t column = at;
    while (content.starts_with("- ")) {
      const auto next = std::min(content.find_first_not_of(' ', 1), content.size());
      text += "- ";
      content.remove_prefix(next);
      column += next;
      if (key_end(content) || content.starts_with("- ")) {
        level = {column, level.is + kStep, content.starts_with("- ")};
        levels_.push_back(level);
      }
    }
    if (content == "-") {
      text += "-";
      content = {};
    }
    const auto end = key_end(content);
    if (end) {
      text += std::string(content.substr(0, *end + 1));
      content.remove_prefix(*end + 1);
      const auto value = std::min(content.find_first_not_of(' '), content.size());
      if (value < content.size()) text += content[value] == '#' ? std::string(content.substr(0, value)) : " ";
      content.remove_prefix(value);
    }
    last_ = level;
    const auto margin = levels_.back().is - (text.starts_with("- ") ? dashes(text) * kStep : 0);
    Open open;
    const bool comment_only = content.starts_with('#');
    auto value = comment_only ? std::string(content) : Content(content, open).write();
    out_ += std::string(dash ? margin_of_dash(at, margin) : levels_.back().is, ' ') + text + value + "\n";
    open_ = open;
    if (!comment_only) open_block(content);
  }

  static std::size_t dashes(std::string_view text) {
    std::size_t count = 0;
    while (text.starts_with("- ")) {
      text.remove_prefix(2);
      ++count;
    }
    return count;
  }
  std::size_t margin_of_dash(std::size_t at, std::size_t otherwise) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      if (level->was == at && level->list) return level->is;
    }
    return otherwise;
  }

  void open_block(std::string_view content) {
    if (content.starts_with('|') || content.starts_with('>')) block_ = last_;
  }

  // Comments belong to the line after them when they stand at its place, else to the level they stand at.
  void flush_comments(const Level* next) {
    for (const auto& comment : comments_) {
      std::size_t margin = next != nullptr ? next->is : 0;
      if (next == nullptr || comment.was != next->was) {
        margin = 0;
        for (const auto& level : before_) {
          if (level.was <= comment.was) margin = level.is + (level.was < comment.was ? kStep : 0);
        }
        if (next != nullptr && comment.was < next->was) margin = std::min(margin, next->is);
      }
      if (comment.after_blank && !out_.empty()) out_ += "\n";
      out_ += std::string(margin, ' ') + comment.text + "\n";
    }
    comments_.clear();
    if (next != nullptr && blanks_ > 0 && !out_.empty()) out_ += "\n";
    if (next != nullptr) blanks_ = 0;
    before_ = levels_;
  }

  std::string out_;
  std::vector<Level> levels_, before_;
  std::vector<Comment> comments_;
  std::vector<std::string_view> pending_;
  Level last_{0, 0, false};
  std::optional<Level> block_;
  std::optional<std::size_t> block_base_;
  Open open_;
  std::size_t blanks_ = 0;
};

std::string without_blanks(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  return out;
}

}  // namespace

std::optional<std::string> layout(std::string_view text, std::string_view file, Diagnostics& into) {
  const auto tree = yaml::read(text, file, into);
  if (!tree) return std::nullopt;
  auto laid = Layout().run(text);
  Diagnostics quiet;
  const auto again = yaml::read(laid, file, quiet);
  const bool kept = again && yaml::same(*tree, *again) && without_blanks(text) == without_blanks(laid);
  // What is not stable is not canonical.
  if (kept && Layout().run(laid) == laid) return laid;
  return std::string(text);
}

}  // namespace policy
