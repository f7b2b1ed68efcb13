#pragma once

#include "policy/result.h"

namespace standin {

// An error number of the operating system as an error of `files.h`.
tl::unexpected<policy::Error> io_failure(int error);

}  // namespace standin
