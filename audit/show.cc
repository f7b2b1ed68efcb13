#include "audit/show.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "audit/chain.h"
#include "audit/escape.h"
#include "audit/reader.h"
#include "audit/segment.h"

namespace audit {
namespace {

using policy::fail;
using policy::Json;
using policy::Result;

void tree(const Json& json, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (const auto* object = std::get_if<Json::Object>(&json.value())) {
    for (const auto& [name, value] : *object) {
      out += margin + terminal_safe(name) + ":";
      const auto* inner = std::get_if<Json::Object>(&value.value());
      const auto* items = std::get_if<Json::Array>(&value.value());
      if ((inner != nullptr && !inner->empty()) || (items != nullptr && !items->empty())) {
        out += "\n";
        tree(value, indent + 2, out);
      } else {
        out += " ";
        tree(value, 0, out);
      }
    }
    if (object->empty()) out += margin + "{}\n";
  } else if (const auto* array = std::get_if<Json::Array>(&json.value())) {
    for (const auto& item : *array) {
      const auto* inner = std::get_if<Json::Object>(&item.value());
      out += margin + "- ";
      if (inner != nullptr) {
        out += terminal_safe(policy::canonical(item)) + "\n";
      } else {
        tree(item, 0, out);
      }
    }
    if (array->empty()) out += margin + "[]\n";
  } else if (const auto* text = std::get_if<std::string>(&json.value())) {
    out += margin + terminal_safe(*text) + "\n";
  } else {
    out += margin + policy::canonical(json) + "\n";
  }
}

class Shower final {
 public:
  Shower(Disk& disk, ShowForm form, const ShowSink& out) : disk_(disk), form_(form), out_(out) {}

  Result<std::size_t> operator()(const BySeq& by) {
    auto chosen = segments();
    if (!chosen) return tl::unexpected(chosen.error());
    // The segment that begins at or before the record, found from the end.
    for (auto at = chosen->rbegin(); at != chosen->rend(); ++at) {
      bool before = false;
      auto done = lines(*at, [&](std::string_view, const Fields& fields) {
        before = *fields.seq <= by.seq;
        return false;
      });
      if (!done) return tl::unexpected(done.error());
      if (!before) continue;
      done = lines(*at, [&](std::string_view line, const Fields& fields) {
        if (*fields.seq == by.seq) emit(line);
        return *fields.seq < by.seq;
      });
      if (!done) return tl::unexpected(done.error());
      break;
    }
    return found("no record has this number");
  }

  Result<std::size_t> operator()(const LastRecords& last) {
    auto chosen = segments();
    if (!chosen) return tl::unexpected(chosen.error());
    const std::size_t count = std::min(last.count, kMaxShown);
    std::vector<std::string> kept;  // newest first
    for (auto at = chosen->rbegin(); at != chosen->rend() && kept.size() < count; ++at) {
      std::deque<std::string> of_this;
      auto done = lines(*at, [&](std::string_view line, const Fields&) {
        of_this.emplace_back(line);
        if (of_this.size() > count - kept.size()) of_this.pop_front();
        return true;
      });
      if (!done) return tl::unexpected(done.error());
      std::move(of_this.rbegin(), of_this.rend(), std::back_inserter(kept));
    }
    for (auto line = kept.rbegin(); line != kept.rend(); ++line) emit(*line);
    return found("the log is empty");
  }

  Result<std::size_t> operator()(const ByCall& by) {
    auto chosen = segments();
    if (!chosen) return tl::unexpected(chosen.error());
    for (const auto& segment : *chosen) {
      auto done = lines(segment, [&](std::string_view line, const Fields& fields) {
        if (fields.call == by.call && shown_ < kMaxShown) emit(line);
        return true;
      });
      if (!done) return tl::unexpected(done.error());
    }
    return found("no record belongs to this call");
  }

 private:
  Result<std::vector<Segment>> segments() { return segments_of(disk_); }

  // Hands the whole lines of a segment to `each` until it answers false; a torn end is passed over.
  template <class Each>
  Result<void> lines(const Segment& segment, Each each) {
    auto file = disk_.open(segment.name(), Disk::Open::read);
    if (!file) return tl::unexpected(file.error());
    const auto size = (*file)->size();
    if (!size) return tl::unexpected(size.error());
    LineReader reader(**file, 0, *size);
    LineReader::Line line;
    for (std::uint64_t number = 1;; ++number) {
      const auto more = reader.next(line);
      if (!more) return tl::unexpected(more.error());
      if (!*more || !line.whole) return {};
      const auto fields = read_fields(line.bytes);
      if (!fields)
        return fail("audit.line", fields.error().message, segment.name() + ":" + std::to_string(number));
      if (!each(line.bytes, *fields)) return {};
    }
  }

  void emit(std::string_view line) {
    ++shown_;
    if (form_ == ShowForm::raw) return out_(std::string(line) + "\n");
    if (form_ == ShowForm::json) return out_(terminal_safe_json(line) + "\n");
    if (const auto text = record_text(line)) out_(*text);
  }

  Result<std::size_t> found(const char* otherwise) const {
    if (shown_ == 0) return fail("audit.none", otherwise);
    return shown_;
  }

  Disk& disk_;
  ShowForm form_;
  const ShowSink& out_;
  std::size_t shown_ = 0;
};

}  // namespace

Result<std::string> record_text(std::string_view line) {
  const auto fields = read_fields(line);
  if (!fields) return tl::unexpected(fields.error());
  const auto value = read_value(line);
  if (!value) return tl::unexpected(value.error());
  const auto word = [](std::string_view raw) { return terminal_safe(raw); };
  std::string out =
      "record " + std::to_string(*fields->seq) + "  " + word(fields->ts) + "  " + word(fields->act);
  if (fields->ph == "req") {
    auto effect = member_of(fields->dec, "eff");
    if (effect.size() >= 2 && effect.front() == '"') effect = effect.substr(1, effect.size() - 2);
    out += "  " + word(effect);
  } else if (fields->ph == "res") {
    out += "  outcome of " + std::to_string(*fields->ref);
  }
  out += "\n";
  const auto& object = *std::get_if<Json::Object>(&value->value());
  Json rest;
  for (const auto& [name, member] : object) {
    if (name == "act" || name == "log" || name == "ph" || name == "seq" || name == "ts" || name == "v" ||
        name == "ref")
      continue;
    rest[name == "_prev" ? "prev" : name == "zhash" ? "hash" : name] = member;
  }
  tree(rest, 2, out);
  return out;
}

Result<std::size_t> show(Disk& disk, const Selection& selection, ShowForm form, const ShowSink& out) {
  return std::visit(Shower(disk, form, out), selection);
}

Result<std::size_t> show(const std::string& folder, const Selection& selection, ShowForm form,
                         const ShowSink& out) {
  const auto disk = review_disk(folder);
  if (!disk) return tl::unexpected(disk.error());
  return show(**disk, selection, form, out);
}

}  // namespace audit
