#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "vmware/driver.h"
#include "vmware/link/report.h"
#include "vmware/link/request.h"

namespace vmware {

// Commands and files in and out of a guest by nothing but vmrun's guest operations: a fixed launcher, tokens
// of 32 hex digits, and files. Every command is decided on behalf of `cause`. What comes back was written by
// the guest and is bounded and parsed before it is believed.
//
// Errors beside those of the driver: `guest.no_room`, `guest.broken` (the launcher does not do its work any
// more), `guest.report`, `job.lost` (the guest does not know the token), `copy.*` of copies.
class GuestLink final {
 public:
  // Both outlive the link. Staging happens in a folder below `settings.state`.
  GuestLink(const MachineSettings& settings, Driver& driver);

  // Puts the launcher there and lets it run once: done when the guest carries out commands.
  boost::asio::awaitable<Result<void>> install(policy::Caller cause, GuestAt, std::stop_token);

  // Begins a job. With `request.wait` 0 the report says `running` and nothing else; so it does when a job
  // that was begun cannot be heard of within the wait and a few seconds.
  boost::asio::awaitable<Result<GuestReport>> begin(policy::Caller cause, GuestAt, std::string token,
                                                    GuestRequest request, std::stop_token);
  boost::asio::awaitable<Result<GuestReport>> report(policy::Caller cause, GuestAt, std::string token,
                                                     std::stop_token);
  // Kills the job's processes and reports. `report` false: without the report, for callers in a hurry.
  enum class Afterwards { report, nothing };
  boost::asio::awaitable<Result<GuestReport>> end(policy::Caller cause, GuestAt, std::string token,
                                                  Afterwards, std::stop_token);
  // Tokens of the jobs that still run.
  boost::asio::awaitable<Result<std::vector<std::string>>> census(policy::Caller cause, GuestAt,
                                                                  std::stop_token);

  // The tar on the host goes into the guest and is unpacked there by `command` (one of request.h's).
  boost::asio::awaitable<Result<void>> put_tar(policy::Caller cause, GuestAt, std::string token,
                                               std::string host_tar, std::uint64_t size, std::string command,
                                               std::stop_token);
  // `command` packs in the guest; the tar arrives at `host_tar`, at most `max_bytes` long.
  boost::asio::awaitable<Result<std::uint64_t>> fetch_tar(policy::Caller cause, GuestAt, std::string token,
                                                          std::string command, std::string host_tar,
                                                          std::uint64_t max_bytes, std::stop_token);

 private:
  boost::asio::awaitable<Result<void>> send(policy::Caller cause, GuestAt, std::string guest_path,
                                            std::string bytes, std::stop_token);
  boost::asio::awaitable<Result<std::string>> receive(policy::Caller cause, GuestAt, std::string guest_path,
                                                      std::size_t max_bytes,
                                                      std::optional<std::chrono::milliseconds> deadline,
                                                      std::stop_token);
  // Calls the launcher; its exit code. Puts it back when the guest lost it.
  boost::asio::awaitable<Result<int>> launch(policy::Caller cause, GuestAt, std::string token,
                                             std::chrono::milliseconds wait, std::stop_token);
  // Sends a request whose answer is the exit code of its command.
  boost::asio::awaitable<Result<int>> perform(policy::Caller cause, GuestAt, std::string token,
                                              std::string command, std::stop_token);
  std::string staging() const;

  const MachineSettings& settings_;
  Driver& driver_;
};

}  // namespace vmware
