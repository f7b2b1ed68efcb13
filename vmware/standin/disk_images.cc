#include "vmware/standin/disk_images.h"

#include <nlohmann/json.hpp>

#include "vmware/standin/launch.h"
#include "vmware/standin/qcow2.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using nlohmann::json;
using policy::fail;

constexpr Millis kImageWait{60000};
constexpr Millis kCopyWait{1800000};
constexpr char kQemuImg[] = "/usr/bin/qemu-img";
constexpr std::size_t kMaxSaid = 1 << 16;

Result<> qemu_img(std::vector<std::string> words, Millis wait) {
  words.insert(words.begin(), kQemuImg);
  const auto done = run_program(words, after(wait), kMaxSaid);
  if (!done) {
    return fail("disk", std::string(texts::kUnknownError) + ": qemu-img failed: " + done.error().message);
  }
  return {};
}

// The whole chain as one word for qemu-img, each layer with its format and what is below it.
Result<std::string> chain_word(const std::vector<std::string>& layers) {
  json chain = nullptr;
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (!qcow2_stands_alone(read_head(layers[i], kQcow2Head).value_or(""))) {
      return fail("disk", std::string(texts::kUnknownError) + ": not a plain qcow2 image: " + layers[i]);
    }
    json image{{"driver", "qcow2"},
               {"file", {{"driver", "file"}, {"filename", layers[i]}}},
               {"backing", std::move(chain)}};
    chain = std::move(image);
  }
  if (chain.is_null()) return fail("disk", std::string(texts::kUnknownError));
  return "json:" + chain.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<> create_layer(const std::string& path, const std::string& below) {
  if (exists(path)) return fail("file.exists", std::string(texts::kFileExists));
  const std::string below_path = below.starts_with("/") ? below : folder_of(path) + "/" + below;
  // The image below is not opened (`-u`): only its size is wanted.
  const auto size = qcow2_size(read_head(below_path, kQcow2Head).value_or(""));
  if (!size) return fail("disk", std::string(texts::kUnknownError) + ": not a qcow2 image: " + below_path);
  return qemu_img(
      {"create", "-q", "-u", "-f", "qcow2", "-F", "qcow2", "-b", below, path, std::to_string(*size)},
      kImageWait);
}

Result<> grow(const std::vector<std::string>& layers, std::uint64_t bytes) {
  const auto chain = chain_word(layers);
  if (!chain) return tl::unexpected(chain.error());
  const auto size = qcow2_size(read_head(layers.front(), kQcow2Head).value_or(""));
  if (size && *size >= bytes) return {};
  return qemu_img({"resize", "-q", *chain, std::to_string(bytes)}, kImageWait);
}

Result<> flatten(const std::vector<std::string>& layers, const std::string& path) {
  const auto chain = chain_word(layers);
  if (!chain) return tl::unexpected(chain.error());
  (void)remove_file(path);
  auto made = qemu_img({"convert", "-q", "-O", "qcow2", *chain, path}, kCopyWait);
  if (made) made = sync_file(path);
  return made;
}

Result<> merge_down(const std::vector<std::string>& layers) {
  if (layers.size() < 2) return fail("disk", std::string(texts::kUnknownError));
  const auto chain = chain_word(layers);
  if (!chain) return tl::unexpected(chain.error());
  if (auto opened = make_writable(layers[1]); !opened) return opened;
  auto merged = qemu_img({"commit", "-q", "-d", *chain}, kCopyWait);
  if (merged) merged = sync_file(layers[1]);
  return merged;
}

}  // namespace standin
