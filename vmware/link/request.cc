#include "vmware/link/request.h"

#include <algorithm>

namespace vmware {
namespace {

constexpr std::size_t kMaxForget = 32;

std::string with_paths(std::string_view tar, const policy::GuestPath& path, std::string_view script) {
  std::string text = "tar=" + shell_quoted(tar) + "\npath=" + shell_quoted(path.text()) + "\n";
  text += script;
  return text;
}

// The exit code says what stands in the way, as far as it can be told afterwards.
constexpr std::string_view kUnpackFile = R"BASH(
umask 022
trap 'rm -f -- "$tar"; [ -z "$box" ] || rm -rf -- "$box"' EXIT
parent=${path%/*}
[ -d "${parent:-/}" ] || exit 3
[ ! -d "$path" ] || exit 4
[ -w "${parent:-/}" ] || exit 5
box=$(mktemp -d "$parent/.copy.XXXXXXXX") || exit 6
tar --extract --file="$tar" --directory="$box" --no-same-owner || exit 6
set -- "$box"/*
[ "$#" = 1 ] && [ -f "$1" ] || { set -- "$box"/.[!.]*; [ "$#" = 1 ] && [ -f "$1" ] || exit 1; }
mv -f -T -- "$1" "$path" || exit 5
exit 0
)BASH";

constexpr std::string_view kUnpackFolder = R"BASH(
umask 022
trap 'rm -f -- "$tar"' EXIT
mkdir -p -- "$path" || exit 5
[ -w "$path" ] || exit 5
tar --extract --file="$tar" --directory="$path" --no-same-owner --no-overwrite-dir && exit 0
[ "$(stat -f -c %a -- "$path")" -gt 256 ] || exit 6
exit 5
)BASH";

constexpr std::string_view kPack = R"BASH(
umask 077
[ -e "$path" ] || exit 7
[ -r "$path" ] || exit 9
set -o pipefail
options="--create --format=pax --pax-option=delete=atime,delete=ctime --no-unquote"
if [ -d "$path" ]; then
  cd -- "$path" || exit 9
  tar $options --file=- . | head -c "$((limit + 1))" > "$tar"
else
  real=$(readlink -f -- "$path") || exit 7
  [ -f "$real" ] || exit 7
  cd -- "${real%/*}/" || exit 9
  tar $options --file=- -- "${real##*/}" | head -c "$((limit + 1))" > "$tar"
fi
code=$?
size=$(stat -c %s -- "$tar") || exit 6
if [ "$size" -gt "$limit" ]; then
  rm -f -- "$tar"
  exit 8
fi
[ "$code" -le 1 ] && exit 0
[ "$(stat -f -c %a -- "$tar")" -gt 256 ] || code=6
rm -f -- "$tar"
[ "$code" = 6 ] && exit 6
exit 9
)BASH";

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += '\'';
  return quoted;
}

std::string write_request(const GuestRequest& request) {
  std::string head = "sallyport1 run ";
  head += std::to_string(std::max<std::int64_t>(0, request.wait.count())) + ' ';
  head += std::to_string(std::max<std::int64_t>(0, request.timeout.count())) + ' ';
  head += request.answer == GuestRequest::Answer::report ? "file " : "exit ";
  const auto count = std::min(request.forget.size(), kMaxForget);
  for (std::size_t i = 0; i < count; ++i) head += (i == 0 ? "" : ",") + request.forget[i];
  if (count == 0) head += '-';
  return head + '\n' + request.command;
}

std::string write_census_request() { return "sallyport1 census 0 0 file -\n"; }

std::string unpack_file_command(std::string_view tar, const policy::GuestPath& to) {
  return with_paths(tar, to, kUnpackFile);
}
std::string unpack_folder_command(std::string_view tar, const policy::GuestPath& to) {
  return with_paths(tar, to, kUnpackFolder);
}
std::string pack_command(std::string_view tar, const policy::GuestPath& from, std::uint64_t max_bytes) {
  return "limit=" + std::to_string(max_bytes) + "\n" + with_paths(tar, from, kPack);
}

}  // namespace vmware
