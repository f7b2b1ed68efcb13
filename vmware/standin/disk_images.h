#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vmware/standin/files.h"

namespace standin {

// Work on qcow2 images by qemu-img. No image is opened because another one's header says so: each call names
// every layer, the writable one first, and images whose header asks for further files are refused.

// An empty layer over `below` (absolute, or a name in the same folder).
Result<> create_layer(const std::string& path, const std::string& below);
// Makes the disk at least so large; its guest sees more blocks behind those it had.
Result<> grow(const std::vector<std::string>& layers, std::uint64_t bytes);
// What the chain of layers shows, in one image at `path`, synced, over what is there.
Result<> flatten(const std::vector<std::string>& layers, const std::string& path);
// Puts what the first layer changes into the second, which becomes writable. Interrupted, it leaves a chain
// that shows the same as before.
Result<> merge_down(const std::vector<std::string>& layers);

}  // namespace standin
