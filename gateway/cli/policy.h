#pragma once

#include <string>
#include <vector>

#include "gateway/settings/settings.h"

// The commands about policies. None of them but `status` needs an owner. `paths` are policy files or folders
// of them; none: the policies in force. Each returns the exit code: 0 done, 1 refused or found something, 2
// usage.
namespace gateway::cli {

enum class ReportForm { text, json, sarif, markdown };
using Words = std::vector<std::string>;

enum class Strictness { errors, warnings };
int policy_check(const Sources&, const Words& paths, ReportForm, Strictness);
// Asks the owner what is tried out, and what came of it.
int policy_status(const Sources&, ReportForm);
int policy_test(const Sources&, const Words& paths, ReportForm);
// Of `words`, those that state something (`key=value`, `{ key: value }`) make the question; the others are
// paths.
int policy_explain(const Sources&, const std::string& call, const std::string& subject, const Words& words,
                   ReportForm);
int policy_who_can(const Sources&, const std::string& action, const Words& words, ReportForm);
// From one file or folder to another. 2 when one of them cannot be read, so that 1 says one thing.
enum class Widening { told, fails };
int policy_diff(const Sources&, const std::string& before, const std::string& after, ReportForm, Widening);
// Answers questions from stdin, one a line.
int check_request(const Sources&, const Words& paths);
// Says where targets of web requests from stdin lead, one a line. Needs no policy.
int check_url();

int policy_default();
int policy_facts(ReportForm);
int policy_show_builtin();
int policy_schema();
// Lays files out, or names those that are not; the layout is policy::layout's.
enum class FormatMode { write, check };
int policy_fmt(const Words& files, FormatMode);

}  // namespace gateway::cli
