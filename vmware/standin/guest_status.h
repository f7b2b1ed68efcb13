#pragma once

#include "policy/result.h"
#include "vmware/standin/texts.h"

namespace standin {

// What shell texts of guest operations exit with when they fail, and what that means to the caller.
inline constexpr int kGuestAbsent = 81;
inline constexpr int kGuestDenied = 82;
inline constexpr int kGuestThere = 85;
inline constexpr int kGuestNoProcess = 86;
inline constexpr int kGuestParameter = 87;

inline policy::Result<> check_guest_status(int code) {
  using policy::fail;
  if (code == 0) return {};
  if (code == kGuestAbsent) return fail("guest.absent", std::string(texts::kFileNotFound));
  if (code == kGuestDenied) return fail("guest.denied", std::string(texts::kGuestPermission));
  if (code == kGuestThere) return fail("guest.there", std::string(texts::kFileExists));
  if (code == kGuestNoProcess) return fail("guest.process", std::string(texts::kNoProcess));
  if (code == kGuestParameter) return fail("parameter", std::string(texts::kInvalidParameter));
  return fail("guest.failed", std::string(texts::kUnknownError));
}

}  // namespace standin
