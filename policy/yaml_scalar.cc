#include "policy/yaml_scalar.h"

#include <algorithm>
#include <array>

namespace policy::yaml {
namespace {

// Booleans and nulls of YAML 1.1 in lower case; `true` and `false` are what ours are called.
constexpr std::array<std::string_view, 9> kWords{"y", "n", "yes", "no", "on", "off", "null", "true", "false"};

constexpr std::string_view kDigits = "0123456789";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool all_of(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return all_of(text, kDigits) && (text.size() == 1 || text.front() != '0');
}

// Digits in base 60 with colons, which YAML 1.1 takes for a number: `12:30`.
bool is_base_sixty(std::string_view text) {
  return text.find(':') != std::string_view::npos && all_of(text, "0123456789:_.") && text.front() != ':' &&
         text.back() != ':' && std::count(text.begin(), text.end(), ':') <= 3;
}

bool is_float(std::string_view text) {
  const auto exponent = text.find('e');
  auto mantissa = text.substr(0, exponent);
  if (exponent != std::string_view::npos) {
    auto power = text.substr(exponent + 1);
    if (power.starts_with('+') || power.starts_with('-')) power.remove_prefix(1);
    if (!all_of(power, kDigits)) return false;
  }
  const auto dots = std::count(mantissa.begin(), mantissa.end(), '.');
  return dots <= 1 && all_of(mantissa, "0123456789._") &&
         mantissa.find_first_of(kDigits) != std::string_view::npos;
}

// A number to some reader of YAML, but not written the one way that all of them read alike.
bool is_odd_number(std::string_view text) {
  const auto word = lower(text);
  std::string_view rest = word;
  if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
  if (rest.empty()) return false;
  if (rest == ".inf" || rest == ".nan") return true;
  if (rest.starts_with("0x")) return all_of(rest.substr(2), "0123456789abcdef_");
  if (rest.starts_with("0o")) return all_of(rest.substr(2), "01234567_");
  if (rest.starts_with("0b")) return all_of(rest.substr(2), "01_");
  return is_base_sixty(rest) || is_float(rest);
}

}  // namespace

std::optional<Trap> plain_scalar_trap(std::string_view text) {
  if (text == "true" || text == "false" || is_decimal(text)) return std::nullopt;
  const auto word = lower(text);
  if (text == "~" || std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
    return Trap{"Y0118",
                "`" + std::string(text) +
                    "` means true, false or nothing to some readers of YAML; quote it if you mean the "
                    "word, or write `true` or `false`"};
  }
  if (is_odd_number(text)) {
    return Trap{"Y0119",
                "`" + std::string(text) +
                    "` is a number that readers of YAML take differently; write whole decimal numbers "
                    "without leading zeros, or quote it if you mean text"};
  }
  const bool mark = !text.empty() && (text.front() == '-' || text.front() == '?' || text.front() == ':');
  if (mark && (text.size() == 1 || text[1] == ' ')) {
    return Trap{"Y0123",
                "`" + std::string(text.substr(0, 1)) +
                    "` begins an item, a key or a value to some readers of YAML; quote it if you mean text"};
  }
  return std::nullopt;
}

}  // namespace policy::yaml
