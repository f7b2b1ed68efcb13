#include "policy/address_class.h"

#include "policy/special_addresses.h"

namespace policy {
namespace {

// An interface identifier of ISATAP (RFC 5214) under whatever prefix: a router may take its last four bytes
// for the IPv4 address to send to.
std::optional<Address> isatap_v4(const Address& address) {
  const auto low = address.words()[1];
  constexpr std::uint64_t kUniversal = 0x0200'0000;  // the bit may be set
  if ((low >> 32 & ~kUniversal) != 0x5EFE) return std::nullopt;
  return Address::v4(static_cast<std::uint32_t>(low));
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
  if (address.words()[0] >> 61 != 1) return AddressClass{"outside-2000-3", true};
  if (const auto inner = isatap_v4(address); inner && refused_class(*inner))
    return AddressClass{"isatap", true};
  return std::nullopt;
}

}  // namespace policy
