#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace policy {

// An IPv4 or IPv6 address. An IPv4 address inside of an IPv6 one stays IPv6 here: whoever dials or judges
// asks for embedded_v4(). IPv4 sorts before IPv6.
class Address final {
 public:
  constexpr Address() = default;  // 0.0.0.0
  static constexpr Address v4(std::uint32_t number) {
    Address address;
    for (unsigned i = 0; i < 4; ++i) address.bytes_[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    return address;
  }
  static constexpr Address v6(const std::array<std::uint8_t, 16>& bytes) {
    Address address;
    address.size_ = 16;
    address.bytes_ = bytes;
    return address;
  }

  // A dotted quad without leading zeros, or the text of RFC 4291 without zone and brackets. Every other
  // spelling that some library takes (`0x7f.1`, `127.1`, `2130706433`) is refused: it would be one address
  // to us and another to whoever connects. Code: bad-address.
  static Result<Address> parse(std::string_view text);
  // The same for tables in the program.
  static constexpr std::optional<Address> read(std::string_view text);

  constexpr bool is_v4() const { return size_ == 4; }
  constexpr unsigned bits() const { return 8U * size_; }
  constexpr std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }
  // The bytes as two numbers, the first byte highest and zeros after IPv4: to compare and mask at once.
  constexpr std::array<std::uint64_t, 2> words() const {
    std::array<std::uint64_t, 2> words{};
    for (unsigned i = 0; i < 8; ++i) {
      words[0] |= std::uint64_t{bytes_[i]} << (56 - 8 * i);
      words[1] |= std::uint64_t{bytes_[8 + i]} << (56 - 8 * i);
    }
    return words;
  }
  // As RFC 5952 writes it; all of an IPv6 address in hexadecimal.
  std::string text() const;

  // The IPv4 address that is meant by ::ffff:0:0/96 (mapped) and 64:ff9b::/96 (translated).
  constexpr std::optional<Address> embedded_v4() const;
  // A mapped address as the IPv4 address that it is; every other as it stands.
  constexpr Address unmapped() const;

  friend constexpr auto operator<=>(const Address&, const Address&) = default;
  friend constexpr bool operator==(const Address&, const Address&) = default;

 private:
  static constexpr std::optional<Address> read_v4(std::string_view text);
  static constexpr std::optional<Address> read_v6(std::string_view text);

  std::uint8_t size_ = 4;
  std::array<std::uint8_t, 16> bytes_{};  // IPv4: the first four, then zeros
};

// A block of addresses: those whose first `length` bits are those of `first`, which has no other bit set.
class Cidr final {
 public:
  // `10.0.0.0/8`, `2001:db8::/32`. A length is required, and set host bits are refused with the block that is
  // probably meant: `10.1.2.3/8` could be one machine or sixteen million. Code: bad-cidr.
  static Result<Cidr> parse(std::string_view text);
  // The block of one address.
  static Cidr one(const Address& address) { return {address, address.bits()}; }

  const Address& first() const { return first_; }
  Address last() const;
  unsigned length() const { return length_; }
  bool contains(const Address&) const;  // of the same family
  std::string text() const;

  friend auto operator<=>(const Cidr&, const Cidr&) = default;
  friend bool operator==(const Cidr&, const Cidr&) = default;

 private:
  Cidr(const Address& first, unsigned length) : first_(first), length_(length) {}

  Address first_;
  unsigned length_ = 0;
};

constexpr std::optional<Address> Address::read(std::string_view text) {
  return text.find(':') == std::string_view::npos ? read_v4(text) : read_v6(text);
}

constexpr std::optional<Address> Address::read_v4(std::string_view text) {
  std::uint32_t number = 0;
  for (unsigned part = 0; part < 4; ++part) {
    std::uint32_t value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      if (digits == 3) return std::nullopt;
      value = value * 10 + static_cast<std::uint32_t>(text[digits++] - '0');
    }
    if (digits == 0 || value > 255 || (digits > 1 && text.front() == '0')) return std::nullopt;
    number = number << 8 | value;
    text.remove_prefix(digits);
    if (part == 3) break;
    if (text.empty() || text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return v4(number);
}

constexpr std::optional<Address> Address::read_v6(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t filled = 0;
  std::size_t gap = 17;  // where `::` stands; 17: nowhere yet
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (filled == 16) return std::nullopt;
    std::size_t digits = 0;
    std::uint32_t group = 0;
    for (; digits < text.size() && digits < 5; ++digits) {
      const char c = text[digits];
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        group = group << 4 | static_cast<std::uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        group = group << 4 | static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        break;
      }
    }
    if (digits < text.size() && text[digits] == '.') {
      const auto tail = read_v4(text);
      if (!tail || filled > 12) return std::nullopt;
      for (const auto byte : tail->bytes()) bytes[filled++] = byte;
      break;
    }
    if (digits == 0 || digits > 4) return std::nullopt;
    bytes[filled++] = static_cast<std::uint8_t>(group >> 8);
    bytes[filled++] = static_cast<std::uint8_t>(group & 0xFF);
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (text.front() != ':' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
    if (text.front() != ':') continue;
    if (gap != 17) return std::nullopt;
    gap = filled;
    text.remove_prefix(1);
  }
  if (gap == 17) {
    if (filled != 16) return std::nullopt;
    return v6(bytes);
  }
  if (filled == 16) return std::nullopt;  // `::` stands for one group at least
  const std::size_t moved = filled - gap;
  for (std::size_t i = 1; i <= moved; ++i) {
    bytes[16 - i] = bytes[filled - i];
    bytes[filled - i] = 0;
  }
  return v6(bytes);
}

constexpr std::optional<Address> Address::embedded_v4() const {
  const auto [high, low] = words();
  const bool mapped = high == 0 && low >> 32 == 0xFFFF;
  const bool translated = high == std::uint64_t{0x0064FF9B} << 32 && low >> 32 == 0;
  if (is_v4() || !(mapped || translated)) return std::nullopt;
  return v4(static_cast<std::uint32_t>(low));
}

constexpr Address Address::unmapped() const {
  const auto inner = embedded_v4();
  return inner && words()[0] == 0 ? *inner : *this;
}

}  // namespace policy
