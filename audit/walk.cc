#include "audit/walk.h"

#include <utility>

namespace audit {
namespace {

constexpr std::size_t kMaxUnfinished = 65536;

std::string text_member(std::string_view object, std::string_view name) {
  const auto raw = member_of(object, name);
  if (raw.size() < 2 || raw.front() != '"') return {};
  const auto value = read_value(raw);
  const auto* text = value ? std::get_if<std::string>(&value->value()) : nullptr;
  return text != nullptr ? *text : std::string();
}

}  // namespace

void Walk::begin_segment(std::optional<Previous> before) {
  begins_segment_ = true;
  before_ = std::move(before);
}

std::optional<Fault> Walk::feed(std::string_view line, Fields& fields) {
  Sealed sealed;
  if (!split(line, sealed)) {
    return Fault{"line", "the line does not begin with `_prev` and end with `zhash`", {}, {}, next_seq_};
  }
  if (auto hash = hasher_.hex_closed(sealed.body); hash != sealed.hash)
    return Fault{"hash", "the line does not match its own hash", std::move(hash), std::string(sealed.hash),
                 next_seq_};
  auto read = read_fields(line);
  if (!read)
    return Fault{"line", read.error().message + ", at byte " + read.error().where, {}, {}, next_seq_};
  fields = *read;
  const bool first = !any_;
  if (first && adopt_) {
    log_ = fields.log;
    next_seq_ = *fields.seq;
    head_ = sealed.prev;
  } else if (first) {
    log_ = fields.log;
    key_ = fields.act == "log.open" ? text_member(fields.obj, "key") : std::string();
    head_ = genesis(log_, key_);
  }
  if (sealed.prev != head_)
    return Fault{"prev", "the line does not follow the one before it", head_, std::string(sealed.prev),
                 next_seq_};
  if (*fields.seq != next_seq_) {
    return Fault{"seq", "the number does not follow the one before it", std::to_string(next_seq_),
                 std::to_string(*fields.seq), next_seq_};
  }
  if (fields.log != log_)
    return Fault{"log", "the record belongs to another log", log_, std::string(fields.log), next_seq_};
  if (begins_segment_) {
    if (auto fault = open_record(fields)) return fault;
  }
  if (auto fault = pair(fields)) return fault;
  any_ = true;
  begins_segment_ = false;
  head_ = sealed.hash;
  ++next_seq_;
  return std::nullopt;
}

std::optional<Fault> Walk::open_record(const Fields& fields) {
  if (fields.act != "log.open" || fields.ph != "evt")
    return Fault{"open", "a segment does not begin with `log.open`", "log.open", std::string(fields.act),
                 next_seq_};
  if (before_) {
    const auto name = text_member(fields.obj, "prev_segment");
    const auto size = std::string(member_of(fields.obj, "prev_size"));
    const auto head = text_member(fields.obj, "prev_head");
    if (name != before_->name || size != std::to_string(before_->size) || head != head_) {
      return Fault{"open", "the segment names another one as the one before it",
                   before_->name + " " + std::to_string(before_->size) + " " + head_,
                   name + " " + size + " " + head, next_seq_};
    }
  }
  if (!adopt_ || any_) return std::nullopt;
  const auto raw = member_of(fields.obj, "open");
  if (raw.empty()) return std::nullopt;
  const auto list = read_value(raw);
  const auto* entries = list ? std::get_if<policy::Json::Array>(&list->value()) : nullptr;
  if (entries == nullptr) return std::nullopt;
  for (const auto& entry : *entries) {
    const auto text = [&](std::string_view name) {
      const auto* found = entry.find(name);
      const auto* held = found != nullptr ? std::get_if<std::string>(&found->value()) : nullptr;
      return held != nullptr ? *held : std::string();
    };
    const auto* seq = entry.find("seq");
    const auto* number = seq != nullptr ? std::get_if<std::int64_t>(&seq->value()) : nullptr;
    if (number != nullptr && *number >= 0)
      unfinished_.insert_or_assign(static_cast<std::uint64_t>(*number),
                                   Unfinished{text("act"), text("call")});
  }
  return std::nullopt;
}

std::optional<Fault> Walk::pair(const Fields& fields) {
  if (fields.ph == "req" && member_of(fields.dec, "eff") == "\"allow\"") {
    if (unfinished_.size() == kMaxUnfinished) overflowed_ = true;
    if (!overflowed_) {
      unfinished_.emplace(*fields.seq, Unfinished{std::string(fields.act.substr(0, 64)),
                                                  std::string(fields.call.substr(0, 64))});
    }
  } else if (fields.ph == "res" && unfinished_.erase(*fields.ref) == 0 && !overflowed_) {
    return Fault{"outcome", "an outcome of an action that was not allowed, or has one already",
                 "an unfinished action", std::to_string(*fields.ref), next_seq_};
  }
  return std::nullopt;
}

}  // namespace audit
