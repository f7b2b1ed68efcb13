// What vmrun prints and what a guest leaves as its report: bytes of strangers.
#include <cstdint>
#include <string>
#include <string_view>

#include "property.h"
#include "vmware/link/report.h"
#include "vmware/vmrun_output.h"

namespace {

using fuzz::require;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

void whatever_vmrun_prints(std::string_view bytes) {
  const auto answer = vmware::classify(0, bytes, {});
  require(answer.kind == vmware::VmrunAnswer::Kind::failed || answer.error.code.empty());
  require(answer.kind != vmware::VmrunAnswer::Kind::failed || !answer.error.code.empty());
  // A failure by exit code alone never becomes a success, whatever the text.
  const auto failing = vmware::classify(255, bytes, {});
  require(failing.kind != vmware::VmrunAnswer::Kind::done);
  // The text may decide between kinds, not the stream it came on.
  require(vmware::classify(0, {}, bytes) == answer);
  if (const auto paths = vmware::parse_list(bytes)) {
    require(paths->size() <= 1000);
    for (const auto& path : *paths) require(!path.empty() && path.find('\n') == std::string::npos);
  }
  if (const auto names = vmware::parse_snapshots(bytes)) {
    require(names->size() <= 1000);
    for (const auto& name : *names) require(!name.empty() && name.front() != '\t');
  }
  (void)vmware::parse_tools_state(bytes);
}

void whatever_a_guest_reports(std::string_view bytes) {
  if (const auto report = vmware::parse_report(bytes, kToken)) {
    require(report->out.bytes.size() <= vmware::kStreamKept &&
            report->err.bytes.size() <= vmware::kStreamKept);
    require(report->out.offset + report->out.bytes.size() == report->out.total);
    require(report->exit_code >= 0 && report->exit_code <= 255);
    const auto again = vmware::parse_report(vmware::write_report(*report, kToken), kToken);
    require(again && again->out.bytes == report->out.bytes && again->err.bytes == report->err.bytes &&
            again->status == report->status && again->ran == report->ran);
  }
  if (const auto tokens = vmware::parse_census(bytes, kToken)) {
    for (const auto& token : *tokens) require(token.size() == 32);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  whatever_vmrun_prints(bytes);
  whatever_a_guest_reports(bytes);
  return 0;
}
