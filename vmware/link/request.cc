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

// These hold to the one rule: a path of the agent's is in no program's arguments. Bash opens, enters and
// tests what has its name; programs get standard input, standard output, `.` and names of ours. The exit code
// says what stands in the way, as far as it can be told afterwards.
constexpr std::string_view kUnpackFile = R"BASH(
umask 022
trap 'rm -f -- "$tar"' EXIT
parent=${path%/*} name=./${path##*/}
[ -d "${parent:-/}" ] || exit 3
cd -- "${parent:-/}" || exit 5
[ ! -d "$name" ] || exit 4
true > "$name" || exit 5
mode=0644
[[ $(tar --list --verbose --file="$tar") == -rwx* ]] && mode=0755
{ chmod "$mode" /proc/self/fd/1; tar --extract --to-stdout --file="$tar"; } > "$name" || exit 6
exit 0
)BASH";

// Enters `path`, making what is missing: tar makes a folder from an entry that is written here (GNU format).
constexpr std::string_view kEnter = R"BASH(
pad() { head -c "$1" /dev/zero; }
entry() { # NAME TYPE SIZE
  local size sum=256 i byte text
  printf -v size %011o "$3"
  text="${1}000075500000000000000${size}00000000000${2}ustar  "
  for ((i = 0; i < ${#text}; i++)); do
    printf -v byte %d "'${text:i:1}"
    sum=$((sum + (byte & 255)))
  done
  printf %s "$1"
  pad $((100 - ${#1}))
  printf '0000755\0%s\0%s\0%s\0%s\0%06o\0 %s' 0000000 0000000 "$size" 00000000000 "$sum" "$2"
  pad 100
  printf 'ustar  \0'
  pad 247
}
make() {
  local LC_ALL=C name=./$1/
  if [ ${#name} -gt 100 ]; then
    entry ././@LongLink L $((${#name} + 1))
    printf '%s\0' "$name"
    pad $(((1023 - ${#name}) % 512))
  fi
  entry "${name:0:100}" 5 0
  pad 1024
}
enter() {
  local rest=${1#/} name
  cd / || return
  while [ -n "$rest" ]; do
    name=${rest%%/*}
    rest=${rest#"$name"}
    rest=${rest#/}
    if [ ! -d "./$name" ]; then
      [ ! -e "./$name" ] && [ ! -L "./$name" ] || return
      make "$name" | tar --extract --touch --no-same-owner --file=- || return
    fi
    cd -- "./$name" || return
  done
}
)BASH";

constexpr std::string_view kUnpackFolder = R"BASH(
umask 022
trap 'rm -f -- "$tar"' EXIT
enter "$path" || exit 5
[ -w . ] || exit 5
tar --extract --file="$tar" --no-same-owner --no-overwrite-dir && exit 0
[ "$(stat -f -c %a .)" -gt 256 ] || exit 6
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
  [ -f "$path" ] || exit 7
  cd -- "${path%/*}/" || exit 9
  printf '%s\0' "${path##*/}" | tar $options --dereference --null --files-from=- --file=- |
    head -c "$((limit + 1))" > "$tar"
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
  // How long the command is: one that was cut off on its way is not run.
  return head + ' ' + std::to_string(request.command.size()) + '\n' + request.command;
}

std::string write_census_request() { return "sallyport1 census 0 0 file - 0\n"; }

std::string if_whole(std::string_view tar, std::uint64_t bytes, std::string_view command) {
  const auto name = shell_quoted(tar);
  std::string text = "[ \"$(stat -c %s -- " + name + ")\" = " + std::to_string(bytes) + " ] || { rm -f -- " +
                     name + "; exit " + std::to_string(static_cast<int>(CopyExit::cut_off)) + "; }\n";
  text += command;
  return text;
}

std::string unpack_file_command(std::string_view tar, const policy::GuestPath& to) {
  return with_paths(tar, to, kUnpackFile);
}
std::string unpack_folder_command(std::string_view tar, const policy::GuestPath& to) {
  return with_paths(tar, to, std::string(kEnter) + std::string(kUnpackFolder));
}
std::string pack_command(std::string_view tar, const policy::GuestPath& from, std::uint64_t max_bytes) {
  return "limit=" + std::to_string(max_bytes) + "\n" + with_paths(tar, from, kPack);
}

}  // namespace vmware
