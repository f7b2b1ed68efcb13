#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

// How records hold on to each other. The stored bytes are hashed, so checking needs no JSON.
//
// A line is `{"_prev":"<64 hex>", … ,"zhash":"<64 hex>"}` and a newline. `zhash` is SHA-256 of the line up to
// `,"zhash"` plus `}`; `_prev` is the `zhash` of the line before.
namespace audit {

constexpr std::size_t kHashLength = 64;       // hex digits
constexpr std::size_t kMaxLine = 256 * 1024;  // bytes with the newline; longer lines are not records
constexpr std::string_view kPrevStart = "{\"_prev\":\"";
constexpr std::string_view kHashStart = ",\"zhash\":\"";

// SHA-256 that is set up once and used for many short messages. Not thread-safe.
class Hasher final {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  std::string hex(std::string_view bytes);
  // The same over `bytes` followed by `}`.
  std::string hex_closed(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// `_prev` of record 0. `key` is the log's first public key, empty for a log that is not signed.
std::string genesis(std::string_view log, std::string_view key);

// The two hashes of a line (without its newline) at their fixed places, and what is hashed; false when the
// line is not shaped like a record.
struct Sealed {
  std::string_view prev;
  std::string_view hash;
  std::string_view body;  // to be closed with `}`
};
bool split(std::string_view line, Sealed& out);

}  // namespace audit
