// The command line of `sallyport`. Each command is a function of gateway/cli/commands.h.
#include <cstdio>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "gateway/cli/commands.h"
#include "gateway/cli/completions.h"
#include "gateway/cli/policy_commands.h"
#include "gateway/cli/printable.h"
#include "gateway/settings/field.h"
#include "policy/diagnostic.h"

namespace {

using namespace gateway;

// One command line: options are bound to members, `run` is what the chosen command does.
class CommandLine {
 public:
  CommandLine() : sources_(sources_from_environment()), policy_(sources_, run_) {
    app_.set_version_flag("--version", SALLYPORT_VERSION);
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_help_all_flag("--help-all", "Help for every command");
    add_settings();
    add_server();
    add_approve();
    add_sandbox();
    add_image();
    add_review();
    policy_.add_to(app_);
    add_reference();
  }

  int parse_and_run(int argc, char** argv) {
    if (const auto unknown = unknown_command(argc, argv)) {
      std::fprintf(stderr, "sallyport: %s\n", unknown->c_str());
      return 2;
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      // Help and version are no mistakes; everything else is usage.
      return app_.exit(error) == 0 ? 0 : 2;
    }
    if (!config_.empty()) sources_.config_flag = config_;
    for (const auto& [name, value] : values_) {
      if (!value.empty()) sources_.flags.emplace(name, value);
    }
    return run_ ? run_() : 2;
  }

 private:
  void add_settings() {
    app_.add_option("--config", config_, "The settings file")->group("Settings");
    for (const auto& field : fields()) {
      if (field.name.empty()) continue;
      std::string flag = "--" + std::string(field.name);
      for (auto& c : flag) c = c == '_' ? '-' : c;
      auto& value = values_.emplace_back(std::string(field.name), std::string()).second;
      app_.add_option(flag, value, std::string(field.meaning))->group("Settings");
    }
  }

  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& what,
                    std::function<int()> run) {
    auto* sub = parent.add_subcommand(name, what);
    sub->fallthrough();
    if (run) sub->callback([this, run = std::move(run)] { run_ = run; });
    return sub;
  }
  CLI::App* group(const std::string& name, const std::string& what) {
    auto* sub = app_.add_subcommand(name, what);
    sub->require_subcommand(1);
    sub->fallthrough();
    return sub;
  }

  void add_server() {
    command(app_, "serve", "MCP server on stdin and stdout", [this] { return cli::serve(sources_); });
    auto* daemon = command(app_, "daemon", "The owner process; started when needed", [this] {
      return stop_ ? cli::stop_daemon(sources_) : cli::daemon(sources_, ready_fd_);
    });
    daemon->add_option("--ready-fd", ready_fd_)->group("");
    daemon->add_flag("--stop", stop_, "End the running owner; sandboxes go on until their time is over");
    auto* init =
        command(app_, "init", "Write a commented settings file and policy, and make the base image", [this] {
          return cli::init(sources_, folder_, no_image_ ? cli::InitImage::leave : cli::InitImage::build);
        });
    init->add_option("folder", folder_, "Where to write them");
    init->add_flag("--no-image", no_image_, "Leave the base image for later");
    auto* doctor = command(app_, "doctor", "Look at everything, then make a sandbox and use it", [this] {
      return cli::doctor(sources_, json_ ? cli::DoctorForm::json : cli::DoctorForm::text,
                         quick_ ? cli::DoctorDepth::quick : cli::DoctorDepth::whole);
    });
    doctor->add_flag("--json", json_);
    doctor->add_flag("--quick", quick_, "Make no sandbox");
    auto* status = command(app_, "status", "What is running, what is wrong",
                           [this] { return cli::status(sources_, json_); });
    status->add_flag("--json", json_);
    auto* kill =
        command(app_, "kill-switch", "Destroy all sandboxes and refuse every call, or lift that", [this] {
          return cli::kill_switch(sources_,
                                  text_ == "on" ? cli::KillSwitchPosition::on : cli::KillSwitchPosition::off);
        });
    kill->add_option("position", text_, "on or off")->required()->check(CLI::IsMember({"on", "off"}));
  }

  void add_approve() {
    auto* approve = group("approve", "What rules ask of a person");
    command(*approve, "list", "What is asked now, with all arguments", [this] {
      return cli::approve_list(sources_, json_);
    })->add_flag("--json", json_);
    auto* allow = command(*approve, "allow", "Say yes, to one call",
                          [this] { return cli::approve_answer(sources_, text_, cli::ApproveAnswer::allow); });
    allow->add_option("question", text_, "`ask-...` as `approve list` shows it")->required();
    auto* deny = command(*approve, "deny", "Say no",
                         [this] { return cli::approve_answer(sources_, text_, cli::ApproveAnswer::deny); });
    deny->add_option("question", text_)->required();
  }

  void add_sandbox() {
    auto* sandbox = group("sandbox", "Sandboxes, through the same door as an agent's");
    command(*sandbox, "ls", "List them", [this] {
      return cli::sandbox_ls(sources_, json_);
    })->add_flag("--json", json_);
    auto* create = command(*sandbox, "create", "Make one",
                           [this] { return cli::sandbox_create(sources_, network_, size_); });
    create->add_option("--network", network_, "none, web or nat");
    create->add_option("--image", size_.image, "A base image by its name");
    create->add_option("--cpus", size_.cpus, "Processors");
    create->add_option("--memory-mb", size_.memory_mb, "Memory in MiB");
    create->add_option("--disk-gb", size_.disk_gb, "Disk in GiB, at least");
    auto* run = command(*sandbox, "run", "Run a command in one",
                        [this] { return cli::sandbox_run(sources_, text_, join(words_), timeout_); });
    run->add_option("sandbox", text_)->required();
    run->add_option("command", words_, "For bash; several words are joined by blanks")->required();
    run->add_option("--timeout", timeout_, "Seconds");
    auto* cp = command(*sandbox, "cp",
                       "Copy in or out: one side is `<sandbox>:/path`, the other in the transfer folder",
                       [this] { return cli::sandbox_cp(sources_, text_, other_); });
    cp->add_option("from", text_)->required();
    cp->add_option("to", other_)->required();
    auto* rm =
        command(*sandbox, "rm", "Throw them away", [this] { return cli::sandbox_rm(sources_, words_); });
    rm->add_option("sandbox", words_)->required();
    auto* extend = command(*sandbox, "extend", "Give one more time",
                           [this] { return cli::sandbox_extend(sources_, text_, minutes_); });
    extend->add_option("sandbox", text_)->required();
    extend->add_option("minutes", minutes_)->required();
  }

  void add_image() {
    auto* image = group("image", "Base images");
    auto* build =
        command(*image, "build", "Build one from Debian's packages", [this] { return build_image(); });
    build->add_option("--name", text_, "Its name (debian-12)");
    build->add_option("--with", with_, "Further Debian packages, joined by commas");
    build->add_option("--run", script_, "A script to run in the new system")->check(CLI::ExistingFile);
    build->add_option("--mirror", mirror_, "Debian mirror, instead of what this host's apt uses");
    build->add_flag("--force", force_, "Build even if the same image exists");
    command(*image, "ls", "List them", [this] { return cli::image_ls(sources_); });
    auto* rm = command(*image, "rm", "Remove one", [this] { return cli::image_rm(sources_, text_); });
    rm->add_option("name", text_)->required();
  }

  int build_image() {
    std::vector<std::string> options;
    if (!with_.empty()) options.insert(options.end(), {"--with", with_});
    if (!script_.empty()) options.insert(options.end(), {"--run", cli::absolute(script_)});
    if (!mirror_.empty()) options.insert(options.end(), {"--mirror", mirror_});
    if (force_) options.emplace_back("--force");
    return cli::image_build(sources_, text_.empty() ? "debian-12" : text_, options);
  }

  void add_review() {
    auto* audit = group("audit", "The log");
    auto* verify = command(*audit, "verify", "Check the whole chain; says what is covered and what is not",
                           [this] { return cli::audit_verify(sources_, folder_, words_, json_); });
    verify->add_option("--log", folder_, "The log's folder, instead of the settings'");
    verify->add_option("--anchor", words_, "<seq>:<hash> that was kept elsewhere");
    verify->add_flag("--json", json_);
    auto* show = command(*audit, "show", "Show records: a number, last:<count>, or a call's id", [this] {
      return cli::audit_show(sources_, folder_, text_,
                             raw_    ? cli::ShowAs::raw
                             : json_ ? cli::ShowAs::json
                                     : cli::ShowAs::text);
    });
    show->add_option("what", text_);
    show->add_option("--log", folder_, "The log's folder, instead of the settings'");
    show->add_flag("--json", json_);
    show->add_flag("--raw", raw_, "The stored bytes; not safe for a terminal");
  }

  void add_reference() {
    auto* tools = command(app_, "tools", "The tools an agent sees", [this] {
      return cli::tools(markdown_ ? cli::ToolsForm::markdown
                        : json_   ? cli::ToolsForm::json
                        : digest_ ? cli::ToolsForm::digest
                                  : cli::ToolsForm::table);
    });
    tools->add_flag("--markdown", markdown_);
    tools->add_flag("--json", json_);
    tools->add_flag("--digest", digest_, "SHA-256 of the list, to notice a change");
    auto* completions = command(app_, "completions", "Completions for a shell: bash, zsh or fish", [this] {
      const auto text = cli::completions(app_, text_);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return 0;
    });
    completions->add_option("shell", text_)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command(app_, "settings", "The reference of all settings", [] { return cli::settings_reference(); });
  }

  // A word that stands where a command must and is none: what it is, and what there is instead.
  std::optional<std::string> unknown_command(int argc, char** argv) const {
    const CLI::App* at = &app_;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--") return std::nullopt;
      if (word.starts_with("-")) {
        const auto name = word.substr(0, word.find('='));
        const auto* option = at->get_option_no_throw(name);
        if (option == nullptr) option = app_.get_option_no_throw(name);
        const bool takes_next =
            option != nullptr && name.size() == word.size() && option->get_items_expected_min() > 0;
        i += takes_next ? 1 : 0;
        continue;
      }
      const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
      if (commands.empty()) return std::nullopt;
      const CLI::App* next = nullptr;
      std::vector<std::string_view> known;
      std::string all;
      for (const auto* one : commands) {
        if (one->get_name() == word) next = one;
        known.push_back(one->get_name());
        all += (all.empty() ? "" : ", ") + one->get_name();
      }
      if (next == nullptr) {
        const auto shown = cli::printable(word.substr(0, 60));
        return "there is no command `" + (at == &app_ ? "" : at->get_name() + " ") + shown + "`" +
               policy::suggestion(word, known) + "\nThe commands are: " + all;
      }
      at = next;
    }
    return std::nullopt;
  }

  static std::string join(const std::vector<std::string>& words) {
    std::string line;
    for (const auto& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
  }

  CLI::App app_{"Gives agents disposable virtual machines, and stands in the door.", "sallyport"};
  Sources sources_;
  std::function<int()> run_;
  cli::PolicyCommands policy_;
  cli::MachineSize size_;
  std::string config_, folder_, text_, other_, network_ = "none", with_, script_, mirror_;
  std::list<std::pair<std::string, std::string>> values_;
  std::vector<std::string> words_;
  std::int64_t timeout_ = 0, minutes_ = 0;
  int ready_fd_ = -1;
  bool no_image_ = false, quick_ = false, stop_ = false, json_ = false, raw_ = false, force_ = false,
       markdown_ = false, digest_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    CommandLine line;
    return line.parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sallyport: %s\n", error.what());
    return 1;
  }
}
