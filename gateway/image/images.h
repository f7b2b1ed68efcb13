#pragma once

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "gateway/net/descriptor.h"
#include "gateway/owner/greeting.h"
#include "policy/engine.h"

namespace gateway {

// Where base images are built and looked for: $SALLYPORT_IMAGES_DIR, $XDG_CACHE_HOME/sallyport/images or
// ~/.cache/sallyport/images.
std::string images_folder();
// The snapshot that sandboxes of our images are clones of.
inline constexpr char kImageSnapshot[] = "clean";
// Where an image of that name would be.
std::string image_vmx(const std::string& name);

struct ImageInfo {
  std::string name;
  std::string vmx;
};
std::vector<ImageInfo> images();
// The .vmx of the image that is used when no base_vmx is set.
std::string default_image_vmx();

// Decides, then runs the image builder with its output going to the two descriptors given (stdout, stderr).
boost::asio::awaitable<Result<void>> build_image(policy::Engine&, policy::Caller, Hello,
                                                 std::vector<Descriptor>);
boost::asio::awaitable<Result<void>> remove_image(policy::Engine&, policy::Caller, Hello);

}  // namespace gateway
