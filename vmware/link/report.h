#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "vmware/machines.h"

// What the launcher leaves behind, read as what it is: bytes that anyone in the guest may have written.
namespace vmware {

inline constexpr std::size_t kStreamKept = 1 << 20;  // of each stream
inline constexpr std::size_t kMaxReport = 2 * kStreamKept + 512;

struct GuestReport {
  JobStatus status = JobStatus::running;
  int exit_code = 0;  // 0..255, counts when `exited`
  std::chrono::milliseconds ran{};
  StreamView out, err;
};

// Strict: the line's token is `token`, numbers are in range and agree with each other and with the length.
// Code `guest.report`.
policy::Result<GuestReport> parse_report(std::string_view bytes, std::string_view token);

// The bytes that parse_report() reads as this report.
std::string write_report(const GuestReport&, std::string_view token);

// The tokens of a census, at most 1000.
policy::Result<std::vector<std::string>> parse_census(std::string_view bytes, std::string_view token);

}  // namespace vmware
