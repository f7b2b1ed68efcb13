#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tests/fakes/disk_images.h"
#include "vmware/link/launcher.h"
#include "vmware/link/report.h"
#include "vmware/pause.h"
#include "vmware/process.h"

namespace fakes {

// vmrun with machines that exist in memory only: .vmx files are real, everything else is a record. Behaves as
// vmrun does when nothing is set, and can be told to fail, stall and lie. Keeps every argv.
class FakeVmrun final : public vmware::Processes {
 public:
  using Words = std::vector<std::string>;

  // What the guest does with a job: the report it leaves. Called when the launcher finds a request.
  std::function<vmware::GuestReport(const std::string& request)> guest = [](const std::string&) {
    vmware::GuestReport report;
    report.status = vmware::JobStatus::exited;
    return report;
  };
  // The bytes of a report instead of those of `guest`.
  std::function<std::optional<std::string>(const std::string& token)> forged;
  std::function<int(const std::string& request)> exit_of = [](const std::string&) { return 100; };

  std::string password = "secret";
  std::string backing;  // what a clone's disk names below it, instead of the base's
  std::vector<std::string> snapshots{"clean"};
  std::string extra_vmx;     // lines that a clone's .vmx holds beside the plain ones
  int tools_late = 0;        // questions until the tools run
  int clones_locked = 0;     // clones that fail because the base is in use
  int list_lags = 0;         // lists that still show a stopped machine
  bool start_hangs = false;  // starts the machine and never returns
  bool start_fails = false;
  int dies_at_question = 0;  // which question for the tools finds the machine off
  bool stop_does_nothing = false;
  bool delete_fails = false;
  bool launcher_lost = false;              // once: bash does not find it
  std::optional<std::string> guest_error;  // every guest operation fails with this sentence
  std::string png;

  std::vector<Words> calls;
  std::set<std::string> running;
  std::map<std::string, std::string> files;  // of all guests together

  std::size_t count(const std::string& verb) const {
    return static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [&](const Words& words) {
      return std::find(words.begin(), words.end(), verb) != words.end();
    }));
  }

  boost::asio::awaitable<policy::Result<vmware::ProcessResult>> run(vmware::ProcessSpec spec,
                                                                    std::stop_token stop) override {
    calls.push_back(spec.arguments);
    co_await vmware::pause(std::chrono::milliseconds(1), stop);
    hanging_ = false;
    vmware::ProcessResult result = answer(spec.arguments);
    if (hanging_) {
      // Deadlines pass at once here; what a caller wants to see is what follows.
      result.end = stop.stop_requested() ? vmware::ProcessEnd::stopped : vmware::ProcessEnd::timed_out;
    }
    if (until_stopped) {
      while (!stop.stop_requested()) co_await vmware::pause(std::chrono::seconds(1), stop);
      until_stopped = false;
      result.end = vmware::ProcessEnd::stopped;
    }
    if (spec.growth && size_of(spec.growth->path) > spec.growth->max_bytes) {
      result.end = vmware::ProcessEnd::overgrown;
    }
    co_return result;
  }

 private:
  static std::uint64_t size_of(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
  }
  static vmware::ProcessResult says(std::string out, int exit = 0) {
    vmware::ProcessResult result;
    result.out = std::move(out);
    result.exit = exit;
    return result;
  }
  static vmware::ProcessResult error(const std::string& sentence) {
    return says("Error: " + sentence + "\n", 255);
  }
  static std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  vmware::ProcessResult answer(Words words) {
    bool logged_in = false;
    while (words.size() >= 2 && words.front().starts_with('-')) {
      if (words[0] == "-gp") logged_in = words[1] == password;
      words.erase(words.begin(), words.begin() + 2);
    }
    const auto verb = words.front();
    words.erase(words.begin());
    if (verb == "list") return list();
    const auto vmx = words.front();
    words.erase(words.begin());
    if (!std::filesystem::exists(vmx)) return error("The virtual machine cannot be found");
    if (verb == "listSnapshots") return list_snapshots();
    if (verb == "clone") return clone(vmx, words);
    if (verb == "start") return start(vmx);
    if (verb == "stop") return stop(vmx);
    if (verb == "deleteVM") {
      if (running.contains(vmx)) return error("The virtual machine is already running");
      if (delete_fails) return error("Unknown error");
      std::filesystem::remove(vmx);
      return says("");
    }
    if (verb == "checkToolsState") {
      if (dies_at_question > 0 && --dies_at_question == 0) running.erase(vmx);
      return says(running.contains(vmx) && tools_late-- <= 0 ? "running\n" : "unknown\n");
    }
    if (!running.contains(vmx)) return error("The virtual machine is not powered on: " + vmx);
    if (!logged_in) return error("Invalid user name or password for the guest OS");
    if (guest_error) return error(*guest_error);
    return in_guest(verb, words);
  }

  vmware::ProcessResult list() {
    auto shown = running;
    if (list_lags > 0) {
      --list_lags;
      shown.insert(stopped_.begin(), stopped_.end());
    }
    std::string out = "Total running VMs: " + std::to_string(shown.size()) + "\n";
    for (const auto& vmx : shown) out += vmx + "\n";
    return says(out);
  }
  vmware::ProcessResult list_snapshots() const {
    std::string out = "Total snapshots: " + std::to_string(snapshots.size()) + "\n";
    for (const auto& name : snapshots) out += name + "\n";
    return says(out);
  }
  vmware::ProcessResult clone(const std::string& base_vmx, const Words& words) {
    if (clones_locked-- > 0) return error("The file is already in use");
    std::ofstream(words.at(0)) << ".encoding = \"UTF-8\"\nconfig.version = \"8\"\nscsi0.present = \"TRUE\"\n"
                                  "scsi0:0.present = \"TRUE\"\nscsi0:0.fileName = \"disk.qcow2\"\n"
                               << extra_vmx;
    Qcow2 disk;
    disk.backing =
        backing.empty() ? std::filesystem::path(base_vmx).replace_filename("base.qcow2").string() : backing;
    write_bytes(std::filesystem::path(words.at(0)).replace_filename("disk.qcow2"), disk.bytes());
    return says("");
  }
  vmware::ProcessResult start(const std::string& vmx) {
    if (start_fails) return error("The operation was canceled");
    running.insert(vmx);
    hanging_ = start_hangs;
    return says("");
  }
  vmware::ProcessResult stop(const std::string& vmx) {
    if (!running.contains(vmx)) return error("The virtual machine is not powered on: " + vmx);
    if (stop_does_nothing) return says("");
    running.erase(vmx);
    stopped_.insert(vmx);
    return says("");
  }

  vmware::ProcessResult in_guest(const std::string& verb, const Words& words) {
    if (verb == "CopyFileFromHostToGuest") {
      files[words.at(1)] = slurp(words.at(0));
      return says("");
    }
    if (verb == "CopyFileFromGuestToHost") {
      if (!files.contains(words.at(0))) return error("A file was not found");
      std::ofstream(words.at(1), std::ios::binary) << files[words.at(0)];
      return says("");
    }
    if (verb == "captureScreen") {
      std::ofstream(words.at(0), std::ios::binary) << png;
      return says("");
    }
    if (verb == "runProgramInGuest") return launch(words);
    return error("Unrecognized command: " + verb);
  }
  static vmware::ProcessResult guest_exit(int code) {
    if (code == 0) return says("");
    return says("Guest program exited with non-zero exit code: " + std::to_string(code) + "\n", code);
  }
  vmware::ProcessResult launch(const Words& words) {
    const auto token = words.at(2);
    if (std::exchange(launcher_lost, false)) return guest_exit(127);
    if (!files.contains(words.at(1))) return guest_exit(127);
    const bool ending = files.erase(vmware::stop_path(token)) > 0;
    const auto request = files.find(vmware::request_path(token));
    if (ending) {
      if (!jobs_.contains(token)) return guest_exit(64);
      jobs_[token].status = vmware::JobStatus::stopped;
    } else if (request != files.end()) {
      const auto text = request->second;
      files.erase(request);
      if (text.starts_with("sallyport1 census")) return census(token);
      if (text.substr(0, text.find('\n')).find(" exit ") != std::string::npos) {
        return guest_exit(exit_of(text));
      }
      jobs_[token] = guest(text);
    } else if (!jobs_.contains(token)) {
      return guest_exit(64);
    }
    auto bytes = vmware::write_report(jobs_[token], token);
    if (forged) bytes = forged(token).value_or(bytes);
    files[vmware::report_path(token)] = bytes;
    return says("");
  }
  vmware::ProcessResult census(const std::string& token) {
    std::string text;
    for (const auto& [job, report] : jobs_) {
      if (report.status == vmware::JobStatus::running) text += job + "\n";
    }
    const auto size = std::to_string(text.size());
    files[vmware::report_path(token)] =
        "sallyport1 " + token + " census 0 0 " + size + " " + size + " 0 0\n" + text;
    return says("");
  }

 public:
  bool until_stopped = false;  // once: the next call ends when it is stopped, not before
  std::map<std::string, vmware::GuestReport>& jobs() { return jobs_; }
  void reboot() {
    jobs_.clear();
    files.clear();
  }

 private:
  std::set<std::string> stopped_;
  std::map<std::string, vmware::GuestReport> jobs_;
  bool hanging_ = false;
};

}  // namespace fakes
