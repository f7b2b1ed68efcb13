#pragma once

#include <string>
#include <string_view>

namespace enforcers {

// Names for which this is equal may be one name on a host that tells neither letter case nor normalisation
// apart: compatibility decomposition with full case folding (ß is ss, the Kelvin sign is k, the ligature ﬁ
// is fi). The name must be UTF-8.
std::string fold_name(std::string_view name);

// Compatibility decomposition alone (NFKD): tells whether two names differ in more than normalisation.
std::string decompose_name(std::string_view name);

}  // namespace enforcers
