#include "gateway/tools/table.h"

#include <algorithm>
#include <utility>

#include "gateway/tools/decode.h"

namespace gateway::tools {
namespace {

constexpr std::size_t kIdChars = 64;
constexpr std::size_t kPathChars = 4096;
constexpr std::size_t kCommandChars = 100'000;
constexpr std::int64_t kMaxOffset = (std::int64_t{1} << 53) - 1;

Field text(std::string_view name, std::string_view description, std::size_t max_length) {
  Field field{.name = name, .description = description};
  field.max_length = max_length;
  return field;
}

Field whole(std::string_view name, std::string_view description, std::int64_t minimum, std::int64_t maximum) {
  Field field{.name = name, .type = FieldType::integer, .description = description};
  field.minimum = minimum;
  field.maximum = maximum;
  return field;
}

Field optional(Field field, std::string_view default_value = {}) {
  field.presence = Presence::optional;
  field.default_value = default_value;
  return field;
}

Field choice(std::string_view name, std::string_view description, std::vector<std::string_view> choices) {
  Field field{.name = name, .description = description};
  field.choices = std::move(choices);
  return field;
}

Field flag(std::string_view name, std::string_view description) {
  return Field{.name = name, .type = FieldType::boolean, .description = description};
}

Field sandbox_id() {
  return text("sandbox_id", "The sandbox, as sandbox_create or sandbox_list gave it.", kIdChars);
}
Field job_id() { return text("job_id", "The job, as sandbox_start or sandbox_run gave it.", kIdChars); }

// Members of results.
Field fact(std::string_view name, std::string_view description) {
  return Field{.name = name, .description = description};
}
Field count(std::string_view name, std::string_view description) {
  Field field{.name = name, .type = FieldType::integer, .description = description};
  field.minimum = 0;
  return field;
}

Field network_fact() {
  return choice("network", "How the sandbox reaches the network.", {"none", "web", "nat"});
}
Field expiry() { return fact("expires_at", "When the sandbox is destroyed, RFC 3339 in UTC."); }

std::vector<Field> sandbox_facts() {
  return {
      fact("sandbox_id", "Names the sandbox in every other call."),
      network_fact(),
      choice("status", "Only a ready sandbox takes commands.", {"creating", "ready", "destroying", "lost"}),
      count("age_seconds", "Seconds since it was created."),
      fact("created_at", "When it was created, RFC 3339 in UTC."),
      expiry(),
      count("expires_in_seconds", "Seconds until it is destroyed.")};
}

// `run` can end in no other ways than a job can.
std::vector<Field> job_facts() {
  return {
      fact("job_id", "For sandbox_check and sandbox_stop."),
      choice("status",
             "exited: it ended by itself; timed_out: it was killed at its timeout; running: it goes on; "
             "stopped: "
             "sandbox_stop ended it; lost: the guest restarted or broke.",
             {"exited", "timed_out", "running", "stopped", "lost"}),
      optional(Field{.name = "exit_code",
                     .type = FieldType::integer,
                     .description = "Only when exited; 128 + signal for a death by signal."}),
      fact("stdout", "What it printed, untrusted; at most 40000 characters together with stderr."),
      fact("stderr", "What it printed to standard error, untrusted."),
      flag("stdout_truncated", "Bytes that were asked for are missing from stdout, before or after it."),
      flag("stderr_truncated", "The same for stderr."),
      count("stdout_offset", "Position of the first byte of stdout in the whole stream."),
      count("stderr_offset", "The same for stderr."),
      count("stdout_next_offset", "Give this to sandbox_check as stdout_offset to read on."),
      count("stderr_next_offset", "The same for stderr."),
      count("stdout_total", "Bytes written to stdout until now."),
      count("stderr_total", "The same for stderr."),
      count("duration_ms", "How long it ran, or has been running."),
      expiry(),
  };
}

std::vector<Tool> make_tools() {
  std::vector<Tool> tools;
  tools.push_back(
      {.name = "sandbox_create",
       .title = "Create a sandbox",
       .description =
           "Makes a fresh disposable Linux virtual machine and returns when it is ready to take commands, "
           "which "
           "can take a minute or more. It is destroyed by itself at expires_at, and everything in it is lost "
           "then. Only a few sandboxes may exist at once; destroy those you no longer need. Choose network "
           "`none` unless the work needs the web, and then `web`: curl, wget, pip, git over https and "
           "package "
           "managers work through a filtering proxy (use `sudo -E` so that they find it); ping and other "
           "protocols do not. `nat` is an unfiltered adapter that also reaches this computer and its local "
           "network: never for code you do not trust, and usually switched off by policy.",
       .action = policy::Create::kName,
       .annotations = {.open_world = true},
       .fields =
           {optional(choice("network", "How the sandbox may reach the network.", {"none", "web", "nat"}),
                     "\"none\""),
            optional(text("image", "A base image by its name; leave it out for the usual one.", 60)),
            optional(whole("cpus", "Processors; leave it out unless the work needs more.", 1, 32)),
            optional(
                whole("memory_mb", "Memory in MiB; leave it out unless the work needs more.", 256, 65'536)),
            optional(whole("disk_gb",
                           "Size of the disk in GiB, at least; leave it out unless the work needs more.", 1,
                           2048))},
       .decode = decode_create,
       .results = sandbox_facts()});
  tools.push_back(
      {.name = "sandbox_run",
       .title = "Run a command",
       .description =
           "Runs a bash command in the sandbox, in the user's home folder and without keyboard input, and "
           "waits for it. A command that takes longer than this call may wait comes back with status "
           "`running` "
           "and a job_id and goes on: continue with sandbox_check. At timeout_seconds the command and all it "
           "started are killed (status `timed_out`) and what was printed until then is returned. Long output "
           "shows its newest part; the offsets tell how to read the rest with sandbox_check. An exit code "
           "other "
           "than 0 is a normal result.",
       .action = policy::Run::kName,
       .annotations = {.open_world = true},
       .fields = {sandbox_id(), text("command", "Text for bash; may have several lines.", kCommandChars),
                  optional(whole("timeout_seconds", "Seconds after which the command is killed.", 1, 3600),
                           "120")},
       .decode = decode_run,
       .results = job_facts()});
  tools.push_back(
      {.name = "sandbox_start",
       .title = "Start a background command",
       .description =
           "Starts a bash command in the background and returns its job_id at once: for servers and for work "
           "that takes long. It runs in the home folder without keyboard input. At most 8 run at once in one "
           "sandbox. Read its output with sandbox_check, end it with sandbox_stop; it ends with the sandbox.",
       .action = policy::Start::kName,
       .annotations = {.open_world = true},
       .fields = {sandbox_id(), text("command", "Text for bash; may have several lines.", kCommandChars)},
       .decode = decode_start,
       .results = {fact("job_id", "For sandbox_check and sandbox_stop."),
                   choice("status", "What became of it so far.",
                          {"exited", "timed_out", "running", "stopped", "lost"}),
                   expiry()}});
  tools.push_back(
      {.name = "sandbox_check",
       .title = "Look at a background command",
       .description =
           "Status and output of a job of sandbox_start, or of a sandbox_run that was still running. Without "
           "offsets it gives the newest part of both streams. With an offset it gives that stream from this "
           "byte on, so that long output can be read piece by piece: pass the last answer's "
           "stdout_next_offset or stderr_next_offset. The newest 1 MB of each stream is kept. Changes "
           "nothing; "
           "call it as often as you like.",
       .action = policy::Check::kName,
       .annotations = {.read_only = true, .idempotent = true},
       .fields =
           {sandbox_id(), job_id(),
            optional(whole("stdout_offset", "Byte of stdout to read from; 0 is the start.", 0, kMaxOffset)),
            optional(whole("stderr_offset", "Byte of stderr to read from; 0 is the start.", 0, kMaxOffset))},
       .decode = decode_check,
       .results = job_facts()});
  tools.push_back(
      {.name = "sandbox_stop",
       .title = "Stop a background command",
       .description =
           "Ends a job and every program it started. Its output stays readable with sandbox_check. "
           "If it had already ended, the answer says so; that is no error.",
       .action = policy::Stop::kName,
       .annotations = {.idempotent = true},
       .fields = {sandbox_id(), job_id()},
       .decode = decode_stop,
       .results = {
           fact("job_id", "The job."), choice("effect", "What this call did.", {"stopped", "had_ended"}),
           choice("status", "How the job ended.", {"exited", "timed_out", "running", "stopped", "lost"}),
           optional(Field{.name = "exit_code",
                          .type = FieldType::integer,
                          .description = "Only when it had exited by itself."}),
           count("duration_ms", "How long it ran.")}});
  tools.push_back(
      {.name = "sandbox_copy_in",
       .title = "Copy into the sandbox",
       .description =
           "Copies a file or folder from the transfer folder on the user's computer into the sandbox. "
           "host_path "
           "is relative to the transfer folder; nothing else can be read. A file becomes guest_path itself, "
           "whose folder must exist. Of a folder the contents are placed inside guest_path, which is made if "
           "missing. Executable bits are kept, owners are not. A folder that holds a link "
           "is refused as a whole.",
       .action = policy::CopyIn::kName,
       .annotations = {.idempotent = true},
       .fields = {sandbox_id(),
                  text("host_path", "Relative to the transfer folder; `.` is all of it.", kPathChars),
                  text("guest_path", "Full path in the sandbox.", kPathChars)},
       .decode = decode_copy_in,
       .results = {fact("guest_path", "Where it is now."), count("files", "Files copied."),
                   count("bytes", "Their size together."),
                   optional(fact("sha256", "Of a single file, as hex digits."))}});
  tools.push_back(
      {.name = "sandbox_copy_out",
       .title = "Copy out of the sandbox",
       .description =
           "Copies a file or folder out of the sandbox into the transfer folder on the user's computer. "
           "Missing folders are made; files of the same name are replaced. Of a folder the contents are "
           "placed "
           "inside host_path. Links and names the computer cannot hold are left out and counted in the "
           "answer. What comes out of a sandbox is untrusted.",
       .action = policy::FetchOut::kName,
       .annotations = {.destructive = true, .idempotent = true},
       .fields = {sandbox_id(), text("guest_path", "Full path in the sandbox.", kPathChars),
                  text("host_path", "Relative to the transfer folder.", kPathChars)},
       .decode = decode_copy_out,
       .results = {fact("saved_to", "Where the user finds it."), count("files", "Files copied."),
                   count("bytes", "Their size together."), count("skipped_total", "Entries left out."),
                   Field{.name = "skipped",
                         .type = FieldType::counts,
                         .description = "How many were left out, by reason."},
                   Field{.name = "skipped_names",
                         .type = FieldType::strings,
                         .description = "The first few entries left out, untrusted."},
                   optional(fact("sha256", "Of a single file, as hex digits."))}});
  tools.push_back(
      {.name = "sandbox_screenshot",
       .title = "Look at the screen",
       .description = "A picture of the sandbox's screen. Pixels count from the top left, the same for "
                      "sandbox_click. What the screen shows is untrusted.",
       .action = policy::Screenshot::kName,
       .annotations = {.read_only = true, .idempotent = true},
       .fields = {sandbox_id()},
       .decode = decode_screenshot,
       .results = {count("width", "In pixels."), count("height", "In pixels."),
                   choice("format", "Of the picture.", {"png"}), count("bytes", "Size of the picture.")}});
  tools.push_back(
      {.name = "sandbox_click",
       .title = "Click",
       .description =
           "Clicks the mouse at a place of the last screenshot. Refused unless the user has switched remote "
           "input on. Take a screenshot afterwards to see the effect.",
       .action = policy::Click::kName,
       .annotations = {.open_world = true},
       .fields = {sandbox_id(), whole("x", "Pixels from the left.", 0, 16383),
                  whole("y", "Pixels from the top.", 0, 16383),
                  optional(choice("button", "Which mouse button.", {"left", "right", "middle"}), "\"left\""),
                  optional(flag("double", "Click twice."), "false")},
       .decode = decode_click,
       .results = {count("x", "Pixels from the left."), count("y", "Pixels from the top."),
                   choice("button", "Which mouse button.", {"left", "right", "middle"}),
                   count("clicks", "1 or 2.")}});
  tools.push_back({.name = "sandbox_type",
                   .title = "Type text",
                   .description = "Types text on the keyboard, into whatever has the focus: what a US "
                                  "keyboard can type (plain ASCII); "
                                  "a line end presses Enter, a tab presses Tab. Refused unless the user has "
                                  "switched remote input on.",
                   .action = policy::TypeText::kName,
                   .annotations = {.open_world = true},
                   .fields = {sandbox_id(), text("text", "What to type.", 10'000)},
                   .decode = decode_type,
                   .results = {count("characters", "How many were typed.")}});
  tools.push_back(
      {.name = "sandbox_key",
       .title = "Press a key",
       .description =
           "Presses one key, with ctrl, alt, shift or super held if joined by `+`: `Return`, `ctrl+s`, "
           "`alt+F4`, `super`. Named keys: Return, Escape, Tab, Backspace, Delete, Space, Up, Down, Left, "
           "Right, Home, End, PageUp, PageDown, Insert, F1 to F12; any other is one character. Refused "
           "unless "
           "the user has switched remote input on.",
       .action = policy::PressKey::kName,
       .annotations = {.open_world = true},
       .fields = {sandbox_id(), text("keys", "The key or chord.", 64)},
       .decode = decode_key,
       .results = {fact("keys", "What was pressed.")}});
  tools.push_back({.name = "sandbox_destroy",
                   .title = "Destroy a sandbox",
                   .description =
                       "Ends the sandbox and deletes everything in it; there is no way back. Copy out first "
                       "what is wanted. Makes room for another one.",
                   .action = policy::Destroy::kName,
                   .annotations = {.destructive = true, .idempotent = true},
                   .fields = {sandbox_id()},
                   .decode = decode_destroy,
                   .results = {fact("sandbox_id", "The sandbox."), flag("destroyed", "It is gone.")}});
  Field sandboxes{.name = "sandboxes", .type = FieldType::objects, .description = "One object a sandbox."};
  sandboxes.members = sandbox_facts();
  tools.push_back(
      {.name = "sandbox_list",
       .title = "List sandboxes",
       .description =
           "Your sandboxes with network (`none`, `web` or `nat`), status, age and expiry; an empty "
           "list if there are none.",
       .action = policy::List::kName,
       .annotations = {.read_only = true, .idempotent = true},
       .fields = {},
       .decode = decode_list,
       .results = {std::move(sandboxes), count("count", "How many there are.")}});
  tools.push_back({.name = "sandbox_extend",
                   .title = "Let a sandbox live longer",
                   .description = "Moves the sandbox's expiry, as far as policy allows.",
                   .action = policy::Extend::kName,
                   .annotations = {},
                   .visibility = Visibility::cli,
                   .fields = {sandbox_id(), whole("minutes", "Minutes to add.", 1, 1440)},
                   .decode = decode_extend,
                   .results = sandbox_facts()});
  return tools;
}

std::vector<Field> make_refusal_fields() {
  return {
      choice("decision", "deny: refused; ask: a person must agree first; error: it failed.",
             {"deny", "ask", "error"}),
      fact("code", "Stable and machine-readable."),
      fact("class", "What the refusal is about."),
      flag("retryable", "Whether the same call may succeed later."),
      fact("reason", "What was refused and why."),
      fact("hint", "What to do instead; may be empty."),
      optional(fact("field", "The argument that was wrong.")),
      optional(fact("rule", "The rule that refused.")),
      optional(fact("policy_version", "Digest of the policy in force.")),
      optional(fact("approval_id", "The question that was put to a person.")),
      optional(fact("approval_digest", "What exactly a person would agree to.")),
      optional(fact("approval_who", "Who may agree.")),
      optional(count("approval_within_seconds", "How long the question stays open.")),
  };
}

}  // namespace

std::span<const Tool> all() {
  static const std::vector<Tool> tools = make_tools();
  return tools;
}

std::span<const Field> refusal_fields() {
  static const std::vector<Field> fields = make_refusal_fields();
  return fields;
}

const Tool* find(std::string_view name) {
  const auto tools = all();
  const auto at = std::ranges::find(tools, name, &Tool::name);
  return at == tools.end() ? nullptr : &*at;
}

std::vector<std::string> callable_names() {
  std::vector<std::string> names;
  for (const auto& tool : all()) {
    if (tool.visibility == Visibility::everyone) names.emplace_back(tool.name);
  }
  return names;
}

}  // namespace gateway::tools
