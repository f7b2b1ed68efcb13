#include "policy/path_rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "policy/utf8.h"

namespace policy {
namespace {

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029; }

// Characters that show nothing and change how the rest of a name is shown or compared. The joiners U+200C
// and U+200D stay: several scripts and emoji need them.
bool is_format(char32_t c) {
  return c == 0x061C || c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || c == 0xE0001 ||
         (c >= 0xE0020 && c <= 0xE007F);
}

// Every character whose compatibility decomposition (Unicode 14, UnicodeData.txt) holds a slash, a backslash
// or a colon, or is one or two dots.
bool is_confusable(char32_t c) {
  static constexpr std::array<char32_t, 16> kThese = {0x2024, 0x2025, 0x2100, 0x2101, 0x2105, 0x2106,
                                                      0x2A74, 0xFE13, 0xFE30, 0xFE52, 0xFE55, 0xFE68,
                                                      0xFF0E, 0xFF0F, 0xFF1A, 0xFF3C};
  return std::binary_search(kThese.begin(), kThese.end(), c);
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool starts_with_any_case(std::string_view text, std::string_view upper_case_prefix) {
  return text.size() >= upper_case_prefix.size() &&
         std::equal(upper_case_prefix.begin(), upper_case_prefix.end(), text.begin(),
                    [](char a, char b) { return a == upper(b); });
}

// The device names of Windows, with any extension, and with blanks before it.
bool is_reserved(std::string_view component) {
  std::string_view stem = component.substr(0, component.find('.'));
  while (!stem.empty() && stem.back() == ' ') stem.remove_suffix(1);
  const auto is = [&](std::string_view name) {
    return stem.size() == name.size() && starts_with_any_case(stem, name);
  };
  for (const std::string_view name : {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}) {
    if (is(name)) return true;
  }
  if (!starts_with_any_case(stem, "COM") && !starts_with_any_case(stem, "LPT")) return false;
  const std::string_view number = stem.substr(3);
  return (number.size() == 1 && is_digit(number[0])) || number == "\xC2\xB9" || number == "\xC2\xB2" ||
         number == "\xC2\xB3";
}

// The shape of the short alias that Windows gives a long name: up to eight characters that end in `~` and
// digits, and an extension of up to three.
bool is_short_name(std::string_view component) {
  const std::size_t dot = component.find('.');
  const std::string_view stem = component.substr(0, dot);
  if (dot != std::string_view::npos) {
    const std::string_view extension = component.substr(dot + 1);
    if (extension.size() > 3 || extension.find('.') != std::string_view::npos) return false;
  }
  const std::size_t tilde = stem.rfind('~');
  if (stem.size() > 8 || tilde == std::string_view::npos || tilde == 0 || tilde + 1 == stem.size()) {
    return false;
  }
  return std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(tilde) + 1, stem.end(), is_digit);
}

std::optional<PathFault> judge_windows_name(std::string_view component) {
  for (std::string_view rest = component; !rest.empty();) {
    const auto c = take_code_point(rest);
    if (!c || is_confusable(*c)) return PathFault::confusable;
  }
  if (component.find(':') != std::string_view::npos) return PathFault::ads;
  if (component.find('\\') != std::string_view::npos) return PathFault::backslash;
  if (component.find_first_of("<>\"|?*") != std::string_view::npos) return PathFault::win_illegal_char;
  if (component.back() == '.' || component.back() == ' ') return PathFault::trailing_dot_space;
  if (is_reserved(component)) return PathFault::reserved_name;
  if (is_short_name(component)) return PathFault::short_name;
  return std::nullopt;
}

}  // namespace

std::string_view class_of(PathFault fault) {
  switch (fault) {
    case PathFault::empty:
      return "empty";
    case PathFault::absolute:
      return "absolute";
    case PathFault::parent_ref:
      return "parent-ref";
    case PathFault::nul:
      return "nul";
    case PathFault::control_char:
      return "control-char";
    case PathFault::format_char:
      return "format-char";
    case PathFault::non_utf8:
      return "non-utf8";
    case PathFault::component_too_long:
      return "component-too-long";
    case PathFault::path_too_long:
      return "path-too-long";
    case PathFault::too_deep:
      return "too-deep";
    case PathFault::staging_name:
      return "staging-name";
    case PathFault::unc:
      return "unc";
    case PathFault::device_namespace:
      return "device-namespace";
    case PathFault::drive_letter:
      return "drive-letter";
    case PathFault::backslash:
      return "backslash";
    case PathFault::ads:
      return "ads";
    case PathFault::win_illegal_char:
      return "win-illegal-char";
    case PathFault::trailing_dot_space:
      return "trailing-dot-space";
    case PathFault::reserved_name:
      return "reserved-name";
    case PathFault::short_name:
      return "short-name";
    case PathFault::confusable:
      return "confusable";
  }
  return "";
}

std::string_view code_of(PathFault fault) {
  switch (fault) {
    case PathFault::empty:
      return "path.empty";
    case PathFault::absolute:
      return "path.absolute";
    case PathFault::parent_ref:
      return "path.dotdot";
    case PathFault::nul:
      return "path.nul";
    case PathFault::control_char:
      return "path.control";
    case PathFault::format_char:
      return "path.format";
    case PathFault::non_utf8:
      return "path.encoding";
    case PathFault::component_too_long:
      return "path.name_too_long";
    case PathFault::path_too_long:
      return "path.too_long";
    case PathFault::too_deep:
      return "path.too_deep";
    case PathFault::staging_name:
      return "path.staging";
    case PathFault::unc:
      return "path.unc";
    case PathFault::device_namespace:
      return "path.device";
    case PathFault::drive_letter:
      return "path.drive";
    case PathFault::backslash:
      return "path.separator";
    case PathFault::ads:
      return "path.stream";
    case PathFault::win_illegal_char:
      return "path.character";
    case PathFault::trailing_dot_space:
      return "path.trailing";
    case PathFault::reserved_name:
      return "path.reserved";
    case PathFault::short_name:
      return "path.short_name";
    case PathFault::confusable:
      return "path.confusable";
  }
  return "";
}

bool only_portable(PathFault fault) { return fault >= PathFault::unc; }

std::optional<PathFault> judge_characters(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return PathFault::nul;
  std::optional<PathFault> found;
  while (!text.empty()) {
    const auto c = take_code_point(text);
    if (!c) return PathFault::non_utf8;
    if (found) continue;
    if (is_control(*c)) found = PathFault::control_char;
    if (is_format(*c)) found = PathFault::format_char;
  }
  return found;
}

std::optional<PathFault> judge_component(std::string_view component, NameRules rules) {
  if (component == "..") return PathFault::parent_ref;
  if (component.size() > kMaxComponentBytes) return PathFault::component_too_long;
  if (rules != NameRules::posix) {
    if (const auto fault = judge_windows_name(component)) return fault;
  }
  static constexpr std::string_view kStagingUpper = ".SALLYPORT-STAGING-";
  static_assert(kStagingUpper.size() == kStagingPrefix.size());
  if (starts_with_any_case(component, kStagingUpper)) return PathFault::staging_name;
  return std::nullopt;
}

Error error_of(PathFault fault, std::string_view subject) {
  const auto text = [&]() -> std::string_view {
    switch (fault) {
      case PathFault::empty:
        return "is empty; name a file or folder";
      case PathFault::absolute:
        return "is absolute; use a path relative to the transfer folder, such as `reports/a.txt`";
      case PathFault::parent_ref:
        return "holds `..`; write the path without it, `..` is refused even where it stays inside";
      case PathFault::nul:
        return "holds a NUL byte; leave it out";
      case PathFault::control_char:
        return "holds a control character; use a name without it";
      case PathFault::format_char:
        return "holds an invisible or direction-changing character; use a name without it";
      case PathFault::non_utf8:
        return "is not valid UTF-8; use a name in UTF-8";
      case PathFault::component_too_long:
        return "has a name of more than 255 bytes; use a shorter name";
      case PathFault::path_too_long:
        return "is longer than 1024 bytes; use a shorter path";
      case PathFault::too_deep:
        return "is more than 64 folders deep; use a shallower path";
      case PathFault::staging_name:
        return "names a staging folder, which no copy may use; choose another name than "
               "`.sallyport-staging-...`";
      case PathFault::unc:
        return "names a network share; use a path relative to the transfer folder, such as `reports/a.txt`";
      case PathFault::device_namespace:
        return "names a device; use a path relative to the transfer folder, such as `reports/a.txt`";
      case PathFault::drive_letter:
        return "names a drive; use a path relative to the transfer folder, such as `reports/a.txt`";
      case PathFault::backslash:
        return "holds a backslash; separate folders by `/`";
      case PathFault::ads:
        return "holds a colon, which not every host can store; use a name without it";
      case PathFault::win_illegal_char:
        return "holds one of < > \" | ? *, which not every host can store; use a name without them";
      case PathFault::trailing_dot_space:
        return "has a name that ends in a dot or a blank, which not every host can store; use another name";
      case PathFault::reserved_name:
        return "has a name that is a device on some hosts, such as `CON` or `nul.txt`; use another name";
      case PathFault::short_name:
        return "has the form of a short alias, such as `PROGRA~1`; use the full name";
      case PathFault::confusable:
        return "holds a character that turns into `/`, `\\`, `:` or `.` when normalised; use a name "
               "without it";
    }
    return "";
  }();
  return Error{std::string(code_of(fault)), std::string(subject) + " " + std::string(text)};
}

}  // namespace policy
