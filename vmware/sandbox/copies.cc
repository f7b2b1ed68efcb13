#include <utility>

#include "vmware/host_files.h"
#include "vmware/link/launcher.h"
#include "vmware/pause.h"
#include "vmware/sandbox/owner.h"
#include "vmware/scratch.h"
#include "vmware/screen/png.h"

namespace vmware {
namespace asio = boost::asio;

asio::awaitable<Result<void>> Owner::put(policy::Grant<policy::CopyIn> grant, StagedFile tar, CopyShape shape,
                                         std::stop_token stop) {
  policy::Outcome outcome;
  outcome.bytes_in = tar.size;
  auto done = co_await put_inside(grant.cause(), grant.action(), std::move(tar), shape, std::move(stop));
  co_return finished(std::move(grant), std::move(done), std::move(outcome));
}

asio::awaitable<Result<void>> Owner::put_inside(policy::Caller cause, policy::CopyIn what, StagedFile tar,
                                                CopyShape shape, std::stop_token stop) {
  auto entered = enter(what.sandbox);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  const auto token = policy::random_hex32();
  auto command = shape == CopyShape::file ? unpack_file_command(tar_path(token), what.guest_path)
                                          : unpack_folder_command(tar_path(token), what.guest_path);
  const EitherStop either(stop, sandbox->ending.get_token());
  auto done = co_await link_.put_tar(cause, at(*sandbox), token, std::move(tar.path), tar.size,
                                     std::move(command), either.token());
  sandbox->forget.push_back(token);
  if (done) co_return done;
  auto error = told(*sandbox, done.error());
  if (error.code == "cancelled") co_await kill_quietly(std::move(cause), sandbox, token);
  co_return tl::unexpected(error);
}

asio::awaitable<Result<StagedFile>> Owner::fetch(policy::Grant<policy::FetchOut> grant,
                                                 std::string destination, std::uint64_t max_bytes,
                                                 std::stop_token stop) {
  auto done = co_await fetch_inside(grant.cause(), grant.action(), std::move(destination), max_bytes,
                                    std::move(stop));
  policy::Outcome outcome;
  if (done) outcome.bytes_out = done->size;
  co_return finished(std::move(grant), std::move(done), std::move(outcome));
}

asio::awaitable<Result<StagedFile>> Owner::fetch_inside(policy::Caller cause, policy::FetchOut what,
                                                        std::string destination, std::uint64_t max_bytes,
                                                        std::stop_token stop) {
  auto entered = enter(what.sandbox);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  const auto token = policy::random_hex32();
  auto command = pack_command(tar_path(token), what.guest_path, max_bytes);
  const EitherStop either(stop, sandbox->ending.get_token());
  auto size = co_await link_.fetch_tar(cause, at(*sandbox), token, std::move(command), destination, max_bytes,
                                       either.token());
  sandbox->forget.push_back(token);
  if (size) co_return StagedFile{std::move(destination), *size};
  (void)remove_file(destination);
  auto error = told(*sandbox, size.error());
  if (error.code == "cancelled") co_await kill_quietly(std::move(cause), sandbox, token);
  co_return tl::unexpected(error);
}

asio::awaitable<Result<std::string>> Owner::screenshot(policy::Grant<policy::Screenshot> grant,
                                                       std::stop_token stop) {
  auto png = co_await capture(grant.cause(), grant.action().sandbox, std::move(stop));
  policy::Outcome outcome;
  if (png) outcome.bytes_out = png->size();
  co_return finished(std::move(grant), std::move(png), std::move(outcome));
}

asio::awaitable<Result<std::string>> Owner::capture(policy::Caller cause, policy::SandboxId id,
                                                    std::stop_token stop) {
  auto entered = enter(id);
  if (!entered) co_return tl::unexpected(entered.error());
  const auto sandbox = *entered;
  const Scratch file(settings_.state + "/staging", "screen.png");
  const EitherStop either(stop, sandbox->ending.get_token());
  auto command = capture_command(at(*sandbox), file.path(), kMaxPng);
  auto reply = co_await driver_.call(std::move(cause), std::move(command), either.token());
  auto png = read_file(file.path(), kMaxPng);
  if (!reply) co_return tl::unexpected(told(*sandbox, reply.error()));
  if (!png) co_return policy::fail("screenshot.damaged", "no picture was captured; try again");
  if (auto sound = check_png(*png); !sound) co_return tl::unexpected(sound.error());
  co_return std::move(*png);
}

}  // namespace vmware
