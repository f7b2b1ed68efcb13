#include "gateway/tools/decode.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/mcp/json_reader.h"

namespace gateway::tools {
namespace {

using policy::Result;

// Names the argument an id or a path came from.
template <class T>
Result<T> in(std::string_view name, Result<T> parsed) {
  if (!parsed) parsed.error().where = std::string(name);
  return parsed;
}

// What is no id answers like an id that does not exist.
template <class Id>
Result<Id> known_as(std::string_view code, std::string_view name, const Arguments& given) {
  auto id = in(name, Id::parse(given.text(name)));
  if (!id) id.error().code = std::string(code);
  return id;
}

Result<policy::SandboxId> sandbox(const Arguments& given) {
  return known_as<policy::SandboxId>("sandbox.unknown", "sandbox_id", given);
}
Result<policy::JobId> job(const Arguments& given) {
  return known_as<policy::JobId>("job.unknown", "job_id", given);
}

}  // namespace

Result<Call> decode_create(const Arguments& given) {
  const auto network = policy::network_from(given.text("network"));
  if (!network) return policy::fail("argument.choice", "`network` must be `none`, `web` or `nat`", "network");
  policy::Create asked{*network};
  if (given.has("image")) {
    if (!policy::is_image_name(given.text("image"))) {
      return policy::fail(
          "argument.image",
          "an image's name is of 1 to 60 letters, digits, `.`, `_` and `-`, a letter or digit "
          "first; leave it out for the usual one",
          "image");
    }
    asked.image = given.text("image");
  }
  const auto number = [&](std::string_view name) {
    return given.has(name) ? static_cast<std::uint32_t>(given.integer(name)) : 0U;
  };
  asked.cpus = number("cpus");
  asked.memory_mb = number("memory_mb");
  asked.disk_gb = number("disk_gb");
  return asked;
}

Result<Call> decode_run(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::Run{std::move(*id), given.text("command"),
                     std::chrono::seconds(given.integer("timeout_seconds"))};
}

Result<Call> decode_start(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::Start{std::move(*id), given.text("command")};
}

Result<Call> decode_check(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  auto of = job(given);
  if (!of) return tl::unexpected(of.error());
  Offsets from;
  if (given.has("stdout_offset")) from.out = static_cast<std::uint64_t>(given.integer("stdout_offset"));
  if (given.has("stderr_offset")) from.err = static_cast<std::uint64_t>(given.integer("stderr_offset"));
  return Check{policy::Check{std::move(*id), std::move(*of)}, from};
}

Result<Call> decode_stop(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  auto of = job(given);
  if (!of) return tl::unexpected(of.error());
  return policy::Stop{std::move(*id), std::move(*of)};
}

Result<Call> decode_copy_in(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  auto host = in("host_path", policy::HostPath::parse(given.text("host_path")));
  if (!host) return tl::unexpected(host.error());
  auto guest = in("guest_path", policy::GuestPath::parse(given.text("guest_path")));
  if (!guest) return tl::unexpected(guest.error());
  return CopyIn{std::move(*id), std::move(*host), std::move(*guest)};
}

Result<Call> decode_copy_out(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  auto guest = in("guest_path", policy::GuestPath::parse(given.text("guest_path")));
  if (!guest) return tl::unexpected(guest.error());
  auto host = in("host_path", policy::HostPath::parse(given.text("host_path")));
  if (!host) return tl::unexpected(host.error());
  return policy::FetchOut{std::move(*id), std::move(*guest), std::move(*host)};
}

Result<Call> decode_screenshot(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::Screenshot{std::move(*id)};
}

Result<Call> decode_click(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  const std::string& name = given.text("button");
  auto button = policy::MouseButton::left;
  if (name == policy::spelling(policy::MouseButton::right)) button = policy::MouseButton::right;
  if (name == policy::spelling(policy::MouseButton::middle)) button = policy::MouseButton::middle;
  return policy::Click{std::move(*id), static_cast<std::int32_t>(given.integer("x")),
                       static_cast<std::int32_t>(given.integer("y")), button, given.flag("double") ? 2 : 1};
}

Result<Call> decode_type(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::TypeText{std::move(*id), given.text("text")};
}

Result<Call> decode_key(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::PressKey{std::move(*id), given.text("keys")};
}

Result<Call> decode_destroy(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::Destroy{std::move(*id), policy::DestroyCause::asked};
}

Result<Call> decode_list(const Arguments&) { return policy::List{}; }

Result<Call> decode_extend(const Arguments& given) {
  auto id = sandbox(given);
  if (!id) return tl::unexpected(id.error());
  return policy::Extend{std::move(*id), std::chrono::minutes(given.integer("minutes"))};
}

Result<Call> decode(const Tool& tool, const nlohmann::json& arguments) {
  const auto checked = Arguments::check(tool, arguments);
  if (!checked) return tl::unexpected(checked.error());
  return tool.decode(*checked);
}

Result<Call> decode_text(const Tool& tool, std::string_view arguments) {
  const auto read = mcp::read_json(arguments);
  if (!read.value) return policy::fail("argument.json", "the arguments are " + read.message);
  return decode(tool, *read.value);
}

}  // namespace gateway::tools
