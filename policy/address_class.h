#pragma once

#include <optional>
#include <string_view>

#include "policy/address.h"

namespace policy {

// Why an address is not public.
struct AddressClass {
  std::string_view code;  // `loopback`, `private`, `cloud-metadata`, ...
  // Whether a rule of the operator that names addresses may open it again. Never for unspecified,
  // this-network, multicast, broadcast, link-local and cloud-metadata; loopback only by one address with one
  // port, which is for the rule to see to.
  bool reopenable;

  friend bool operator==(const AddressClass&, const AddressClass&) = default;
};

// Nothing: the address is public. The longest block of the table (special_addresses.h) that holds the address
// decides, an embedded IPv4 address is judged as itself, and IPv6 is public only inside of 2000::/3. The own
// addresses of the host are not known here. If this missed a block, a sandbox could reach the network around
// the host, or the host itself.
std::optional<AddressClass> refused_class(const Address&);

// Whether a rule may open addresses of a class again, by its code.
bool is_reopenable(std::string_view code);

}  // namespace policy
