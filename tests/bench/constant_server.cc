// Answers every request over stdio with one and the same result, and does nothing else: what is left is the
// client and the pipe, and no server is faster through them.
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace {

// The digits after `"id":`; empty for a notification.
std::string_view id_of(std::string_view line) {
  constexpr std::string_view kKey = "\"id\":";
  const auto at = line.find(kKey);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + kKey.size());
  return line.substr(0, line.find_first_not_of("0123456789"));
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int main() {
  std::array<char, 65536> bytes;
  std::string rest;
  for (;;) {
    const auto got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) return 0;
    rest.append(bytes.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      const auto id = id_of(std::string_view(rest).substr(0, end));
      if (id.empty()) continue;
      if (!write_all(
              "{\"jsonrpc\":\"2.0\",\"id\":" + std::string(id) +
              ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"No sandboxes.\"}],\"tools\":[]}}\n"))
        return 1;
    }
  }
}
