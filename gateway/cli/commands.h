#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/settings/settings.h"

// The commands of `sallyport`. Each returns the exit code: 0 done, 1 failed or refused (said on stderr), 2
// usage.
namespace gateway::cli {

// An MCP server on stdin and stdout: hands both to the owner and waits.
int serve(const Sources&);
// The owner itself. `ready_fd` gets one byte once it listens; -1 for none.
int daemon(const Sources&, int ready_fd);
int stop_daemon(const Sources&);

// Writes settings and policy, and builds the base image when there is none.
enum class InitImage { build, leave };
int init(const Sources&, const std::string& folder, InitImage);
int status(const Sources&, bool json);
// Looks at everything a sandbox needs, then makes one and uses it. 1 when something is wrong.
enum class DoctorForm { text, json };
enum class DoctorDepth { whole, quick };
int doctor(const Sources&, DoctorForm, DoctorDepth);
int approve_list(const Sources&, bool json);
enum class ApproveAnswer { allow, deny };
int approve_answer(const Sources&, const std::string& question, ApproveAnswer);

enum class KillSwitchPosition { on, off };
int kill_switch(const Sources&, KillSwitchPosition);

int sandbox_ls(const Sources&, bool json);
// What a machine is to have; as usual where nothing is said.
struct MachineSize {
  std::optional<std::string> image;
  std::optional<std::uint32_t> cpus, memory_mb, disk_gb;
};
int sandbox_create(const Sources&, const std::string& network, const MachineSize&);
int sandbox_run(const Sources&, const std::string& sandbox, const std::string& command,
                std::int64_t timeout_seconds);
// One of the two places is `<sandbox>:<absolute path>`, the other a path in the transfer folder.
int sandbox_cp(const Sources&, const std::string& from, const std::string& to);
int sandbox_rm(const Sources&, const std::vector<std::string>& sandboxes);
int sandbox_extend(const Sources&, const std::string& sandbox, std::int64_t minutes);

int image_build(const Sources&, const std::string& name, const std::vector<std::string>& builder_options);
int image_ls(const Sources&);
int image_rm(const Sources&, const std::string& name);

// An empty folder means that of the settings. Anchors are `<seq>:<hash>`. The exit code is the verifier's.
int audit_verify(const Sources&, const std::string& folder, const std::vector<std::string>& anchors,
                 bool json);
// `what`: a record's number, `last:<count>`, a call's id; empty for the last 20.
enum class ShowAs { text, json, raw };
int audit_show(const Sources&, const std::string& folder, const std::string& what, ShowAs);

// A path as this process's working folder makes it.
std::string absolute(const std::string& path);
enum class ToolsForm { table, markdown, json, digest };
int tools(ToolsForm);
int settings_reference();

}  // namespace gateway::cli
