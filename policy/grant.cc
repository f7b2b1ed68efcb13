#include "policy/grant.h"

#include <cstdio>
#include <cstdlib>

namespace policy {

void grant_was_spent() {
  std::fprintf(stderr, "sallyport: a grant was used a second time\n");
  std::abort();
}

}  // namespace policy
