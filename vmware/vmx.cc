#include "vmware/vmx.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace vmware {
namespace {

using policy::fail;
using policy::Result;

constexpr std::string_view kEncodingKey = ".encoding";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

bool is_key_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ':' || c == '-';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

struct Line {
  enum class Kind { empty, assignment, ill_formed } kind = Kind::empty;
  std::string_view name;
  std::string_view raw_value;
};

// One line without its end and without NUL bytes.
Line split_line(std::string_view text) {
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && is_blank(text[at])) ++at;
  };
  const Line ill_formed{Line::Kind::ill_formed, {}, {}};
  skip_blanks();
  if (at == text.size() || text[at] == '#') return {};

  const std::size_t name_start = at;
  while (at < text.size() && !is_blank(text[at]) && text[at] != '#' && text[at] != '=') ++at;
  Line line{Line::Kind::assignment, text.substr(name_start, at - name_start), {}};
  skip_blanks();
  if (line.name.empty() || at == text.size() || text[at] != '=') return ill_formed;
  ++at;
  skip_blanks();

  if (at < text.size() && text[at] == '"') {
    const std::size_t close = text.find('"', at + 1);
    if (close == std::string_view::npos) return ill_formed;
    line.raw_value = text.substr(at + 1, close - at - 1);
    at = close + 1;
  } else {
    const std::size_t value_start = at;
    while (at < text.size() && !is_blank(text[at]) && text[at] != '#') ++at;
    line.raw_value = text.substr(value_start, at - value_start);
  }
  skip_blanks();
  return at == text.size() || text[at] == '#' ? line : ill_formed;
}

// `|HH` is a byte. A `|` that starts no escape stays, and so do the one or two bytes looked at to find that
// out: they are not examined again (`||22` is four characters).
std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    if (raw[at] != '|') {
      out += raw[at++];
      continue;
    }
    const bool first = at + 1 < raw.size() && hex_digit(raw[at + 1]) >= 0;
    const bool second = first && at + 2 < raw.size() && hex_digit(raw[at + 2]) >= 0;
    if (second) {
      out += static_cast<char>(hex_digit(raw[at + 1]) * 16 + hex_digit(raw[at + 2]));
      at += 3;
    } else {
      const std::string_view consumed = raw.substr(at, first ? 3 : 2);
      out += consumed;
      at += consumed.size();
    }
  }
  return out;
}

std::string escape(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(value.size());
  for (const char c : value) {
    if (is_control(c) || c == '"' || c == '|') {
      const auto byte = static_cast<unsigned char>(c);
      out += {'|', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80       ? 1
                               : lead >> 5 == 6  ? 2
                               : lead >> 4 == 14 ? 3
                               : lead >> 3 == 30 ? 4
                                                 : 0;
    if (length == 0 || at + length > text.size()) return false;
    std::uint32_t point = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    at += length;
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (point & 0x3f));
  }
}

// The WHATWG table for 0x80…0x9f; 0 where Microsoft's code page defines nothing.
constexpr std::array<std::uint16_t, 32> kWindows1252{
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

enum class Encoding { utf8, windows1252, ascii };

std::optional<Encoding> encoding_named(std::string_view name) {
  if (compare_vmx_keys(name, "UTF-8") == 0) return Encoding::utf8;
  if (compare_vmx_keys(name, "windows-1252") == 0) return Encoding::windows1252;
  if (compare_vmx_keys(name, "US-ASCII") == 0) return Encoding::ascii;
  return std::nullopt;
}

// Nothing when the bytes are not text in that encoding.
std::optional<std::string> decode(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::utf8) return is_utf8(bytes) ? std::optional(std::string(bytes)) : std::nullopt;
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
      continue;
    }
    if (encoding == Encoding::ascii) return std::nullopt;
    const std::uint32_t point = byte < 0xa0 ? kWindows1252[byte - 0x80U] : byte;
    if (point == 0) return std::nullopt;
    append_utf8(out, point);
  }
  return out;
}

// Takes the next line off `rest`; ends are LF, CR LF and a lone CR.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find_first_of("\r\n");
  if (end == std::string_view::npos) return std::exchange(rest, {});
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  return line;
}

void skip_byte_order_mark(std::string_view& bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
}

auto place_of(auto& entries, std::string_view key) {
  return std::lower_bound(
      entries.begin(), entries.end(), key,
      [](const Vmx::Entry& entry, std::string_view k) { return compare_vmx_keys(entry.key, k) < 0; });
}

bool names(auto place, const auto& entries, std::string_view key) {
  return place != entries.end() && compare_vmx_keys(place->key, key) == 0;
}

// What strict reading and `set` demand of one entry whose value is decoded.
Result<> check_entry(std::string_view key, std::string_view value, const std::string& where) {
  if (key.empty() || key.size() > Vmx::kMaxKey) {
    return fail("vmx.name", "a key must have 1 to 256 characters", where);
  }
  if (!std::all_of(key.begin(), key.end(), is_key_char)) {
    return fail("vmx.name", "a key may hold only letters, digits and `_ . : -`", where);
  }
  if (value.size() > Vmx::kMaxValue) return fail("vmx.value", "a value may have at most 8192 bytes", where);
  if (std::any_of(value.begin(), value.end(), is_control)) {
    return fail("vmx.control", "a value may not hold control characters", where);
  }
  return {};
}

struct RawEntry {
  std::string key;
  std::string value;  // unescaped, not yet decoded
  std::string where;
};

}  // namespace

int compare_vmx_keys(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const auto x = static_cast<unsigned char>(lower(a[i]));
    const auto y = static_cast<unsigned char>(lower(b[i]));
    if (x != y) return x < y ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

Result<Vmx> Vmx::parse(std::string_view bytes, std::string_view file) {
  if (bytes.size() > kMaxFile) return fail("vmx.size", "the file is larger than 1 MiB");
  skip_byte_order_mark(bytes);
  std::vector<RawEntry> raw;
  Encoding encoding = Encoding::utf8;
  std::size_t number = 0;
  while (!bytes.empty()) {
    const std::string_view text = take_line(bytes);
    const std::string where = std::string(file) + ":" + std::to_string(++number) + ":1";
    if (number > kMaxLines) return fail("vmx.lines", "the file has more than 5000 lines", where);
    if (text.find('\0') != std::string_view::npos) return fail("vmx.nul", "the line holds a NUL byte", where);
    const Line line = split_line(text);
    if (line.kind == Line::Kind::empty) continue;
    if (line.kind == Line::Kind::ill_formed) {
      return fail("vmx.line", "the line is not `name = \"value\"`", where);
    }
    std::string value = unescape(line.raw_value);
    // Before decoding, so that a huge value is not copied again; decoding can only make it longer.
    if (auto checked = check_entry(line.name, value, where); !checked) return tl::unexpected(checked.error());
    if (compare_vmx_keys(line.name, kEncodingKey) == 0) {
      const auto named = encoding_named(value);
      if (!named) {
        return fail("vmx.encoding", "unknown `.encoding`; use UTF-8, windows-1252 or US-ASCII", where);
      }
      encoding = *named;
    }
    raw.push_back({std::string(line.name), std::move(value), where});
  }

  Vmx vmx;
  for (RawEntry& entry : raw) {
    auto decoded = decode(entry.value, encoding);
    if (!decoded) return fail("vmx.encoding", "the value is not text in the file's `.encoding`", entry.where);
    if (auto checked = check_entry(entry.key, *decoded, entry.where); !checked) {
      return tl::unexpected(checked.error());
    }
    const auto place = place_of(vmx.entries_, entry.key);
    if (names(place, vmx.entries_, entry.key)) {
      return fail("vmx.duplicate", "the key `" + entry.key + "` stands twice", entry.where);
    }
    vmx.entries_.insert(place, {std::move(entry.key), std::move(*decoded)});
  }
  vmx.erase(kEncodingKey);
  return vmx;
}

Result<Vmx> Vmx::parse_lenient(std::string_view bytes) {
  if (bytes.size() > kMaxFile) return fail("vmx.size", "the file is larger than 1 MiB");
  skip_byte_order_mark(bytes);
  Vmx vmx;
  while (!bytes.empty()) {
    std::string_view text = take_line(bytes);
    const Line line = split_line(text.substr(0, text.find('\0')));
    if (line.kind != Line::Kind::assignment) continue;
    std::string value = unescape(line.raw_value);
    value.resize(std::min(value.size(), value.find('\0')));
    const auto place = place_of(vmx.entries_, line.name);
    if (names(place, vmx.entries_, line.name)) {
      place->value = std::move(value);
    } else {
      vmx.entries_.insert(place, {std::string(line.name), std::move(value)});
    }
  }
  const std::string named = vmx.get_or(kEncodingKey, "UTF-8");
  const Encoding encoding = encoding_named(named).value_or(Encoding::utf8);
  for (Entry& entry : vmx.entries_) {
    if (auto decoded = decode(entry.value, encoding)) entry.value = std::move(*decoded);
  }
  vmx.erase(kEncodingKey);
  return vmx;
}

std::optional<std::string_view> Vmx::get(std::string_view key) const {
  const auto place = place_of(entries_, key);
  if (names(place, entries_, key)) return place->value;
  if (compare_vmx_keys(key, kEncodingKey) == 0) return "UTF-8";
  return std::nullopt;
}

std::string Vmx::get_or(std::string_view key, std::string_view otherwise) const {
  return std::string(get(key).value_or(otherwise));
}

bool Vmx::is_true(std::string_view key) const { return compare_vmx_keys(get(key).value_or(""), "TRUE") == 0; }

Result<> Vmx::set(std::string_view key, std::string_view value) {
  if (compare_vmx_keys(key, kEncodingKey) == 0) {
    return fail("vmx.encoding", "`.encoding` cannot be set; the file is always written as UTF-8");
  }
  if (auto checked = check_entry(key, value, ""); !checked) return checked;
  if (!is_utf8(value)) return fail("vmx.encoding", "the value is not UTF-8");
  const auto place = place_of(entries_, key);
  if (names(place, entries_, key)) {
    place->value = value;
  } else {
    entries_.insert(place, {std::string(key), std::string(value)});
  }
  return {};
}

bool Vmx::erase(std::string_view key) {
  const auto place = place_of(entries_, key);
  if (!names(place, entries_, key)) return false;
  entries_.erase(place);
  return true;
}

std::string Vmx::write() const {
  std::string out = ".encoding = \"UTF-8\"\n";
  for (const Entry& entry : entries_) out += entry.key + " = \"" + escape(entry.value) + "\"\n";
  return out;
}

}  // namespace vmware
