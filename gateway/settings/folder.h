#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/net/descriptor.h"
#include "policy/result.h"

namespace gateway {

using policy::Result;

// Makes a folder 0700, with its parents (0700 too), and checks that it is a folder of ours that nobody else
// may write. Codes: folder.missing, folder.foreign, folder.open_to_others.
Result<void> make_private_folder(const std::string& path);
// The same for a folder the user works in: made when missing, left as it is otherwise; must be writable by
// us.
Result<void> make_work_folder(const std::string& path);

// The whole of a small regular file. Codes: file.missing, file.unreadable, file.too_large.
Result<std::string> read_small_file(const std::string& path, std::size_t max);
// Replaces a file by a rename, 0600.
Result<void> write_private_file(const std::string& path, const std::string& bytes);

// Replaces what a file holds at once, by a rename; its owner and rights stay, and a link stays one to it.
// Code: file.unwritable.
Result<void> rewrite_file(const std::string& path, const std::string& bytes);

// The same, refused when group or others may read it: for files with a secret. Code: file.open_to_others.
Result<std::string> read_secret_file(const std::string& path, std::size_t max);

bool is_regular_file(const std::string& path);
bool is_folder(const std::string& path);
bool is_executable(const std::string& path);
std::vector<std::string> folders_below(const std::string& folder);  // names, sorted, not recursive
Result<void> remove_tree(const std::string& path);                  // never follows a link
Result<void> remove_file(const std::string& path);

// An exclusive lock (flock(2)) on a file, held as long as the descriptor lives; taken by somebody else:
// lock.held.
Result<Descriptor> take_lock(const std::string& path);

// Names of files with this ending directly in a folder that rules over others, sorted. Nothing is skipped:
// what is no plain file, does not belong to `trusted` or may be written by others is an error, and so is a
// folder like that or one that cannot be read. No folder at all: no files. Codes: folder.unreadable,
// file.untrusted.
Result<std::vector<std::string>> trusted_files_below(const std::string& folder, const std::string& suffix,
                                                     std::uint32_t trusted);

// A folder of ours that one other user may use as if it were theirs (an access control list, for what comes
// into it too), and nobody else. Made when it is missing. Codes: folder.missing, folder.foreign, folder.acl.
Result<void> make_shared_folder(const std::string& path, std::uint32_t user);

// A new folder and a new file in a transfer folder, with the rights that it gives to what is made in it; the
// umask has its say where it gives none.
Result<void> make_exchange_folder(const std::string& path);
Result<void> write_exchange_file(const std::string& path, std::string_view bytes);

// Changes with every change of the file: its inode, size and times; empty when there is none.
std::string look_of_file(const std::string& path);
bool is_there(const std::string& path);  // under this name is something, a link that leads nowhere included
// Bytes that an ordinary user may still write on the disk of an existing folder.
Result<std::uint64_t> free_bytes(const std::string& folder);
// The number of a group by its name, or the number itself. Code: group.unknown.
Result<std::uint32_t> group_number(const std::string& name);

std::string own_executable();             // absolute path of the running program
std::string home_folder();                // $HOME, or the account's; empty when there is none
std::string home_of(std::uint32_t user);  // as the account says; empty when there is none

}  // namespace gateway
