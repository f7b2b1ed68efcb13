#pragma once

#include <span>

#include "policy/address.h"
#include "policy/address_class.h"

// The blocks of addresses that are not the public internet, as a table in the program.
namespace policy {

struct SpecialBlock {
  // Whether the block is refused as such, or its addresses are judged as the IPv4 address they embed.
  enum class Judged { refused, by_embedded };

  Address first;
  unsigned length = 0;
  AddressClass refused;
  Judged judged = Judged::refused;
};

// Sorted by address, a block before those inside of it.
std::span<const SpecialBlock> special_blocks();

// The longest block that holds the address, or null. Takes about 10 ns.
const SpecialBlock* special_block(const Address&);

}  // namespace policy
