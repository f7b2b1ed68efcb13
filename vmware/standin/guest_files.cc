#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/guest_status.h"
#include "vmware/standin/guest_text.h"
#include "vmware/standin/texts.h"

namespace standin {
namespace {

using policy::fail;

// Shell texts run in the guest as the guest's user; the words are its positional parameters.
constexpr char kFileExists[] = R"sh([ -e "$1" ] && [ ! -d "$1" ])sh";
constexpr char kDirectoryExists[] = R"sh([ -d "$1" ])sh";
constexpr char kDelete[] = R"sh(
[ -e "$1" ] || [ -L "$1" ] || exit 81
[ ! -d "$1" ] || [ -L "$1" ] || exit 81
rm -f -- "$1" 2> /dev/null || exit 82
)sh";
constexpr char kRename[] = R"sh(
[ -e "$1" ] || [ -L "$1" ] || exit 81
[ ! -e "$2" ] && [ ! -L "$2" ] || exit 85
[ -d "$(dirname -- "$2")" ] || exit 81
if [ -d "$1" ] && [ ! -L "$1" ]; then
  case $(realpath -m -- "$2") in "$(realpath -- "$1")"/*) exit 87 ;; esac
fi
mv -T -n -- "$1" "$2" 2> /dev/null || exit 82
)sh";
constexpr char kCreateDirectory[] = R"sh(
[ ! -e "$1" ] && [ ! -L "$1" ] || exit 85
[ -d "$(dirname -- "$1")" ] || exit 81
mkdir -- "$1" 2> /dev/null || exit 82
)sh";
// What can be deleted in it is deleted even when the rest cannot.
constexpr char kDeleteDirectory[] = R"sh(
[ -d "$1" ] && [ ! -L "$1" ] || exit 81
rm -rf --one-file-system -- "$1" 2> /dev/null || exit 82
)sh";
constexpr char kListDirectory[] = R"sh(
[ -d "$1" ] || exit 81
cd -- "$1" 2> /dev/null && [ -r . ] || exit 82
shopt -s nullglob dotglob
for name in *; do printf '%s\0' "$name"; done
)sh";
constexpr char kTempFile[] = R"sh(mktemp /tmp/vmware-XXXXXXXX || exit 82)sh";

Result<GuestExit> run(const Call& call, const char* shell_text) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  return session->run(shell_text, call.line.words, {});
}

Result<GuestExit> run_on_paths(const Call& call, const char* shell_text) {
  auto session = GuestSession::open_as_user(call);
  if (!session) return tl::unexpected(session.error());
  for (const std::string& path : call.line.words) {
    if (auto checked = check_guest_path(path); !checked) return tl::unexpected(checked.error());
  }
  return session->run(shell_text, call.line.words, {});
}

// Its success says nothing.
Result<Answer> silently(const Call& call, const char* shell_text) {
  const auto ended = run_on_paths(call, shell_text);
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_guest_status(ended->code); !checked) return tl::unexpected(checked.error());
  return Answer{};
}

Result<Answer> existence(const Call& call, const char* shell_text, std::string_view yes,
                         std::string_view no) {
  const auto ended = run(call, shell_text);
  if (!ended) return tl::unexpected(ended.error());
  return ended->code == 0 ? Answer{std::string(yes) + "\n"} : Answer{std::string(no) + "\n", 1};
}

}  // namespace

Result<Answer> file_exists_in_guest(const Call& call) {
  return existence(call, kFileExists, texts::kFileIsThere, texts::kFileIsNotThere);
}

Result<Answer> directory_exists_in_guest(const Call& call) {
  return existence(call, kDirectoryExists, texts::kDirectoryIsThere, texts::kDirectoryIsNotThere);
}

Result<Answer> delete_file_in_guest(const Call& call) { return silently(call, kDelete); }

Result<Answer> rename_file_in_guest(const Call& call) { return silently(call, kRename); }

Result<Answer> create_directory_in_guest(const Call& call) { return silently(call, kCreateDirectory); }

Result<Answer> delete_directory_in_guest(const Call& call) { return silently(call, kDeleteDirectory); }

Result<Answer> list_directory_in_guest(const Call& call) {
  const auto ended = run_on_paths(call, kListDirectory);
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_guest_status(ended->code); !checked) return tl::unexpected(checked.error());
  return Answer{directory_listing(ended->out)};
}

Result<Answer> create_temp_file_in_guest(const Call& call) {
  const auto ended = run(call, kTempFile);
  if (!ended) return tl::unexpected(ended.error());
  if (auto checked = check_guest_status(ended->code); !checked) return tl::unexpected(checked.error());
  const std::string path = printed_path(ended->out);
  if (path.empty()) return fail("guest.failed", std::string(texts::kUnknownError));
  return Answer{path + "\n"};
}

}  // namespace standin
