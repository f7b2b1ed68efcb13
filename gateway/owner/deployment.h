#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "gateway/net/descriptor.h"
#include "gateway/settings/settings.h"

namespace gateway {

// A connection to the system's service, where these settings mean it; nothing where they mean an owner of
// this user's own, which is never chosen just because the service cannot be used. `patience`: how long a
// service that is being started again is waited for. Codes: service.denied when this user may not connect,
// service.down when its socket is there and nobody answers, service.absent when the settings want a service
// and there is none.
Result<std::optional<Descriptor>> find_service(const Settings&, const std::string& socket,
                                               std::chrono::milliseconds patience);

}  // namespace gateway
