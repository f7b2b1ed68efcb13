#include "gateway/image/images.h"

#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/call/granted.h"
#include "gateway/mcp/json_reader.h"
#include "gateway/owner/child.h"
#include "gateway/settings/folder.h"
#include "vmware/settled.h"

namespace gateway {
namespace asio = boost::asio;
namespace {

constexpr std::string_view kDefaultImage = "debian-12";

tl::unexpected<policy::Error> bad_name() {
  return policy::fail(
      "image.name",
      "an image is named with 1 to 60 letters, digits, dots, dashes or underscores, a letter or digit first");
}

}  // namespace

std::string images_folder() {
  if (const char* named = std::getenv("SALLYPORT_IMAGES_DIR"); named != nullptr && named[0] == '/')
    return named;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string base = cache != nullptr && cache[0] == '/' ? cache : home_folder() + "/.cache";
  return base + "/sallyport/images";
}

std::string image_vmx(const std::string& name) { return images_folder() + "/" + name + "/" + name + ".vmx"; }

std::string default_image_vmx() { return image_vmx(std::string(kDefaultImage)); }

std::vector<ImageInfo> images() {
  std::vector<ImageInfo> found;
  for (const auto& name : folders_below(images_folder())) {
    const auto vmx = image_vmx(name);
    if (policy::is_image_name(name) && is_regular_file(vmx)) found.push_back({name, vmx});
  }
  return found;
}

asio::awaitable<Result<void>> build_image(policy::Engine& engine, policy::Caller caller, Hello hello,
                                          std::vector<Descriptor> output) {
  if (!policy::is_image_name(hello.name)) co_return bad_name();
  if (output.size() != 2) co_return policy::fail("image.build", "the builder needs somewhere to write");
  std::vector<std::string> words{image_recipe(),
                                 "--out",
                                 images_folder(),
                                 "--name",
                                 hello.name,
                                 "--vmrun",
                                 sibling_program("sallyport-vmrun")};
  const auto options = mcp::read_json(hello.options.empty() ? "[]" : hello.options);
  if (!options.value || !options.value->is_array()) co_return bad_name();
  for (const auto& word : *options.value) {
    if (!word.is_string()) co_return bad_name();
    words.push_back(word.get<std::string>());
  }
  auto pending = engine.decide(caller, policy::BuildImage{hello.name});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto grant = granted(std::move(verdict));
  if (!grant) co_return tl::unexpected(grant.error());
  const int exit = co_await run_child(std::move(words), std::move(output[0]), std::move(output[1]));
  const bool ok = exit == 0;
  (void)grant->close({.ok = ok, .code = ok ? "ok" : "image.build", .exit = exit});
  if (!ok) co_return policy::fail("image.build", "the image was not built; the lines above say why");
  co_return Result<void>();
}

asio::awaitable<Result<void>> remove_image(policy::Engine& engine, policy::Caller caller, Hello hello) {
  if (!policy::is_image_name(hello.name)) co_return bad_name();
  const auto folder = images_folder() + "/" + hello.name;
  if (!is_regular_file(folder + "/" + hello.name + ".vmx")) {
    co_return policy::fail("image.unknown",
                           "there is no image `" + hello.name + "`; `sallyport image ls` lists them");
  }
  auto pending = engine.decide(caller, policy::RemoveImage{hello.name});
  auto verdict = co_await vmware::settled(std::move(pending));
  auto grant = granted(std::move(verdict));
  if (!grant) co_return tl::unexpected(grant.error());
  const auto removed = remove_tree(images_folder() + "/" + grant->action().name);
  (void)grant->close({.ok = removed.has_value(), .code = removed ? "ok" : removed.error().code});
  co_return removed;
}

}  // namespace gateway
