#include "audit/reader.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "audit/chain.h"
#include "policy/utf8.h"

namespace audit {
namespace {

using policy::Json;

constexpr int kMaxDepth = 40;
constexpr std::uint64_t kMaxInteger = (std::uint64_t{1} << 53) - 1;

// Bytes that stand for themselves inside a string.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// Undoes the escapes of a canonical string (between its quotes).
std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out.push_back(raw[i]);
      continue;
    }
    switch (raw[++i]) {
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        int code = 0;
        std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16);
        out.push_back(static_cast<char>(code));
        i += 4;
        break;
      }
      default:
        out.push_back(raw[i]);
    }
  }
  return out;
}

bool escaped(std::string_view raw) { return raw.find('\\') != std::string_view::npos; }

bool in_order(std::string_view before, std::string_view after) {
  if (!escaped(before) && !escaped(after)) return policy::canonical_less(before, after);
  return policy::canonical_less(unescape(before), unescape(after));
}

// Walks canonical JSON. Every function leaves `at` behind what it accepted; false means that it is not
// canonical, and `at` tells where.
struct Scan {
  std::string_view text;
  std::size_t at = 0;

  bool eat(char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  bool word(std::string_view expected) {
    if (!text.substr(at).starts_with(expected)) return false;
    at += expected.size();
    return true;
  }

  bool escape() {
    static constexpr std::string_view kShort = "\"\\bfnrt";
    if (at >= text.size()) return false;
    if (kShort.find(text[at]) != std::string_view::npos) {
      ++at;
      return true;
    }
    if (!word("u00") || at + 2 > text.size()) return false;
    const char high = text[at], low = text[at + 1];
    if (high != '0' && high != '1') return false;
    if ((low < '0' || low > '9') && (low < 'a' || low > 'f')) return false;
    // \b \t \n \f \r have a shorter form.
    if (high == '0' && (low == '8' || low == '9' || low == 'a' || low == 'c' || low == 'd')) return false;
    at += 2;
    return true;
  }

  bool string(std::string_view& raw) {
    if (!eat('"')) return false;
    const std::size_t start = at;
    for (;;) {
      const char* from = text.data() + at;
      const char* const end = text.data() + text.size();
      while (from != end && kPlain[static_cast<unsigned char>(*from)]) ++from;
      at = static_cast<std::size_t>(from - text.data());
      if (at == text.size()) return false;
      const auto c = static_cast<unsigned char>(text[at]);
      if (c >= 0x80) {
        auto rest = text.substr(at);
        if (!policy::take_code_point(rest)) return false;
        at = text.size() - rest.size();
      } else if (c == '"') {
        raw = text.substr(start, at - start);
        ++at;
        return true;
      } else if (c == '\\') {
        ++at;
        if (!escape()) return false;
      } else {
        return false;
      }
    }
  }

  bool number(std::int64_t& value) {
    const bool minus = eat('-');
    const std::size_t start = at;
    std::uint64_t sum = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      if (at - start == 16) return false;
      sum = sum * 10 + static_cast<std::uint64_t>(text[at] - '0');
      ++at;
    }
    const std::size_t length = at - start;
    if (length == 0 || sum > kMaxInteger || (length > 1 && text[start] == '0') || (minus && sum == 0))
      return false;
    value = minus ? -static_cast<std::int64_t>(sum) : static_cast<std::int64_t>(sum);
    return true;
  }

  bool value(int depth) {
    if (at >= text.size() || depth > kMaxDepth) return false;
    std::string_view raw;
    std::int64_t ignored = 0;
    switch (text[at]) {
      case '"':
        return string(raw);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case '[':
        ++at;
        if (eat(']')) return true;
        do {
          if (!value(depth + 1)) return false;
        } while (eat(','));
        return eat(']');
      case '{':
        return object(depth, [](std::string_view, std::string_view) { return true; });
      default:
        return number(ignored);
    }
  }

  // Calls `each(raw name, raw value)`; a false answer ends the walk.
  template <class Each>
  bool object(int depth, Each each) {
    if (!eat('{')) return false;
    if (eat('}')) return true;
    std::string_view before, name;
    bool first = true;
    do {
      const std::size_t start = at;
      if (!string(name)) return false;
      if (!first && !in_order(before, name)) {
        at = start;
        return false;
      }
      first = false;
      before = name;
      if (!eat(':')) return false;
      const std::size_t from = at;
      if (!value(depth + 1) || !each(name, text.substr(from, at - from))) return false;
    } while (eat(','));
    return eat('}');
  }
};

// `text` is known to be canonical.
Json build(Scan& scan) {
  std::string_view raw;
  std::int64_t number = 0;
  switch (scan.text[scan.at]) {
    case '"':
      scan.string(raw);
      return Json(unescape(raw));
    case 't':
      scan.word("true");
      return Json(true);
    case 'f':
      scan.word("false");
      return Json(false);
    case '[': {
      Json::Array out;
      scan.eat('[');
      while (!scan.eat(']')) {
        out.push_back(build(scan));
        scan.eat(',');
      }
      return Json(std::move(out));
    }
    case '{': {
      Json::Object out;
      scan.eat('{');
      while (!scan.eat('}')) {
        scan.string(raw);
        scan.eat(':');
        auto name = unescape(raw);
        out.insert_or_assign(std::move(name), build(scan));
        scan.eat(',');
      }
      return Json(std::move(out));
    }
    default:
      scan.number(number);
      return Json(number);
  }
}

bool text_into(std::string_view value, std::string_view& out) {
  if (value.size() < 2 || value.front() != '"') return false;
  out = value.substr(1, value.size() - 2);
  return true;
}

bool object_into(std::string_view value, std::string_view& out) {
  out = value;
  return value.front() == '{';
}

template <class Number>
bool number_into(std::string_view value, Number& out) {
  return std::from_chars(value.data(), value.data() + value.size(), out).ptr == value.data() + value.size();
}

bool count_into(std::string_view value, std::optional<std::uint64_t>& out) {
  return number_into(value, out.emplace());
}

bool is_uuid(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : (c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
  }
  return text.size() == 36 && text[14] == '7';
}

bool is_timestamp(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i]) return false;
  }
  return true;
}

policy::Result<Fields> bad(std::string_view what, std::size_t at) {
  return policy::fail("audit.line", "not a record: " + std::string(what), std::to_string(at));
}

bool take(Fields& f, std::string_view name, std::string_view value) {
  if (name == "_prev" || name == "zhash") return true;  // split() looked at them
  if (name == "act") return text_into(value, f.act);
  if (name == "call") return text_into(value, f.call);
  if (name == "dec") return object_into(value, f.dec);
  if (name == "dur") return text_into(value, f.dur) && (f.dur == "durable" || f.dur == "ordered");
  if (name == "id") return text_into(value, f.id) && is_uuid(f.id);
  if (name == "log") return text_into(value, f.log);
  if (name == "lvl") {
    return text_into(value, f.lvl) &&
           (f.lvl == "info" || f.lvl == "notice" || f.lvl == "warn" || f.lvl == "alert");
  }
  if (name == "mono") return number_into(value, f.mono);
  if (name == "obj") return object_into(value, f.obj);
  if (name == "par") return count_into(value, f.par);
  if (name == "ph") return text_into(value, f.ph) && (f.ph == "req" || f.ph == "res" || f.ph == "evt");
  if (name == "ref") return count_into(value, f.ref);
  if (name == "req") return text_into(value, f.req);
  if (name == "res") return object_into(value, f.res);
  if (name == "sbx") return text_into(value, f.sbx);
  if (name == "seq") return count_into(value, f.seq);
  if (name == "ses") return text_into(value, f.ses);
  if (name == "sub") return object_into(value, f.sub);
  if (name == "ts") return text_into(value, f.ts) && is_timestamp(f.ts);
  if (name == "v") return number_into(value, f.version);
  return true;  // a later version of the format may add members
}

}  // namespace

policy::Result<Fields> read_fields(std::string_view line) {
  Sealed sealed;
  if (line.size() >= kMaxLine) return bad("the line is too long", kMaxLine);
  if (!split(line, sealed)) return bad("it does not begin with `_prev` and end with `zhash`", 0);
  Fields fields;
  Scan scan{line};
  if (!scan.object(0,
                   [&](std::string_view name, std::string_view value) { return take(fields, name, value); }))
    return bad("not canonical JSON, or a member of the wrong kind", scan.at);
  if (scan.at != line.size()) return bad("something stands behind it", scan.at);
  if (fields.act.empty() || fields.id.empty() || fields.log.empty() || fields.lvl.empty() ||
      fields.ph.empty() || fields.ts.empty() || !fields.seq) {
    return bad("a member that every record has is missing", line.size());
  }
  if (fields.version != 1) return bad("its version is not 1", line.size());
  if ((fields.ph == "res" && (!fields.ref || fields.res.empty())) ||
      (fields.ph == "req" && fields.dec.empty()))
    return bad("a decision without `dec`, or an outcome without `ref` or `res`", line.size());
  return fields;
}

policy::Result<Json> read_value(std::string_view text) {
  Scan scan{text};
  if (!scan.value(0) || scan.at != text.size())
    return policy::fail("audit.line", "not canonical JSON", std::to_string(scan.at));
  Scan again{text};
  return build(again);
}

std::string_view member_of(std::string_view object, std::string_view name) {
  std::string_view found;
  Scan scan{object};
  scan.object(0, [&](std::string_view member, std::string_view value) {
    if (member != name) return true;
    found = value;
    return false;
  });
  return found;
}

}  // namespace audit
