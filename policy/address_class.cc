#include "policy/address_class.h"

#include "policy/special_addresses.h"

namespace policy {
namespace {

// An interface identifier of ISATAP (RFC 5214) under whatever prefix: a router may take its last four bytes
// for the IPv4 address to send to.
std::optional<Address> isatap_v4(const Address& address) {
  const auto bytes = address.bytes();
  if ((bytes[8] & ~0x02) != 0 || bytes[9] != 0 || bytes[10] != 0x5E || bytes[11] != 0xFE) return std::nullopt;
  std::uint32_t number = 0;
  for (const auto byte : bytes.last(4)) number = number << 8 | byte;
  return Address::v4(number);
}

}  // namespace

std::optional<AddressClass> refused_class(const Address& address) {
  if (const auto* block = special_block(address)) {
    if (block->judged == SpecialBlock::Judged::refused) return block->refused;
    if (const auto inner = address.embedded_v4()) return refused_class(*inner);
    return block->refused;
  }
  if (address.is_v4()) return std::nullopt;
  // Only 2000::/3 is delegated. The table names the rest of the space, and this holds without it.
  if ((address.bytes()[0] & 0xE0) != 0x20) return AddressClass{"outside-2000-3", true};
  if (const auto inner = isatap_v4(address); inner && refused_class(*inner))
    return AddressClass{"isatap", true};
  return std::nullopt;
}

}  // namespace policy
