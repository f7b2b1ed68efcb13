#include "policy/address.h"

#include <algorithm>
#include <charconv>

namespace policy {
namespace {

std::string hexadecimal(unsigned value) {
  char digits[4];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return std::string(digits, end);
}

// `address` with every bit after the first `length` cleared.
Address cut(const Address& address, unsigned length) {
  std::array<std::uint8_t, 16> bytes{};
  const auto whole = address.bytes();
  for (unsigned i = 0; i < whole.size(); ++i) {
    const unsigned kept = length <= 8 * i ? 0 : std::min(8U, length - 8 * i);
    bytes[i] = static_cast<std::uint8_t>(whole[i] & (0xFF00U >> kept));
  }
  if (!address.is_v4()) return Address::v6(bytes);
  std::uint32_t number = 0;
  for (unsigned i = 0; i < 4; ++i) number = number << 8 | bytes[i];
  return Address::v4(number);
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  if (const auto address = read(text)) return *address;
  return fail("bad-address",
              "no address; write an IPv4 address as four numbers from 0 to 255 without leading zeros, or an "
              "IPv6 address without a zone and brackets");
}

std::string Address::text() const {
  std::string out;
  if (is_v4()) {
    for (unsigned i = 0; i < 4; ++i) {
      if (i != 0) out += '.';
      out += std::to_string(bytes_[i]);
    }
    return out;
  }
  const auto group = [this](unsigned i) { return unsigned{bytes_[2 * i]} << 8 | bytes_[2 * i + 1]; };
  // The first of the longest runs of zeros is left out, unless it is a single group.
  unsigned gap = 8, gap_length = 1;
  for (unsigned i = 0; i < 8;) {
    unsigned end = i;
    while (end < 8 && group(end) == 0) ++end;
    if (end - i > gap_length) {
      gap = i;
      gap_length = end - i;
    }
    i = end + 1;
  }
  for (unsigned i = 0; i < 8; ++i) {
    if (i == gap) {
      out += "::";
      i += gap_length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += hexadecimal(group(i));
  }
  return out;
}

Result<Cidr> Cidr::parse(std::string_view text) {
  const auto refuse = [](std::string message) { return fail("bad-cidr", std::move(message)); };
  const auto slash = text.find('/');
  const auto address = Address::read(text.substr(0, slash));
  if (!address) {
    return refuse("no block of addresses; write `10.0.0.0/8` or `2001:db8::/32`, with no leading zeros");
  }
  if (slash == std::string_view::npos) {
    return refuse("the length is missing; write `" + one(*address).text() + "` for this one address");
  }
  const auto digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  const bool number = !digits.empty() && read.ec == std::errc() &&
                      read.ptr == digits.data() + digits.size() &&
                      (digits.size() == 1 || digits.front() != '0');
  if (!number || length > address->bits()) {
    return refuse("the length after `/` must be a whole number from 0 to " + std::to_string(address->bits()));
  }
  const Cidr block{cut(*address, length), length};
  if (block.first_ != *address) {
    return refuse("bits after the first " + std::to_string(length) + " are set; write `" + block.text() +
                  "` for the block, or `" + one(*address).text() + "` for the one address");
  }
  return block;
}

bool Cidr::contains(const Address& address) const {
  return address.is_v4() == first_.is_v4() && cut(address, length_) == first_;
}

Address Cidr::last() const {
  std::array<std::uint8_t, 16> bytes{};
  const auto first = first_.bytes();
  for (unsigned i = 0; i < first.size(); ++i) {
    const unsigned fixed = std::clamp(length_, 8 * i, 8 * i + 8) - 8 * i;
    bytes[i] = static_cast<std::uint8_t>(first[i] | (0xFFU >> fixed));
  }
  if (!first_.is_v4()) return Address::v6(bytes);
  return Address::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                     std::uint32_t{bytes[2]} << 8 | bytes[3]);
}

std::string Cidr::text() const { return first_.text() + "/" + std::to_string(length_); }

}  // namespace policy
