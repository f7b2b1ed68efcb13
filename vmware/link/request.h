#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/path.h"

// What the launcher is to do, as the bytes of a `.req` file: one line of words, then the command's text as it
// came. Pure.
namespace vmware {

struct GuestRequest {
  enum class Answer {
    report,     // a `.out` file
    exit_code,  // the launcher's own exit code, see LauncherExit
  };
  std::string command;               // for bash, any bytes
  std::chrono::milliseconds wait{};  // how long the call waits for the end; 0: it returns at once
  std::chrono::seconds timeout{};    // after which the job is ended; 0: never
  Answer answer = Answer::report;
  std::vector<std::string> forget = {};  // tokens of jobs whose files may go; at most 32 are named
};

std::string write_request(const GuestRequest&);
// Which jobs still run; the answer is a report whose `out` has one token a line.
std::string write_census_request();

// Shell text that unpacks the tar at `tar` (a file's one entry becomes `to`; a folder's are placed in it) and
// removes the tar; its exit code is a CopyExit.
std::string unpack_file_command(std::string_view tar, const policy::GuestPath& to);
std::string unpack_folder_command(std::string_view tar, const policy::GuestPath& to);
// The command, if the tar has just so many bytes: of one that was cut off, some files might be missing
// unnoticed.
std::string if_whole(std::string_view tar, std::uint64_t bytes, std::string_view command);
// Packs `from` into `tar`, at most `max_bytes` of it.
std::string pack_command(std::string_view tar, const policy::GuestPath& from, std::uint64_t max_bytes);

enum class CopyExit {
  done = 0,
  failed = 1,
  no_parent = 3,
  is_folder = 4,
  not_permitted = 5,
  no_room = 6,
  missing = 7,
  too_large = 8,
  unreadable = 9,
  no_tar = 10,
  cut_off = 11,
};

// The text as one word of bash, whatever it holds (no NUL).
std::string shell_quoted(std::string_view text);

}  // namespace vmware
