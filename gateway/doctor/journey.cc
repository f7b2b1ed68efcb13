#include "gateway/doctor/journey.h"

#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/settings/folder.h"
#include "policy/ids.h"

namespace gateway::doctor {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kCreateTime{10};
constexpr std::chrono::minutes kStepTime{3};

std::string text_of(const Json& result) {
  for (const auto& part : result.value("content", Json::array())) {
    if (part.value("type", "") == "text") return part.value("text", std::string());
  }
  return "no reason given";
}

bool has_picture(const Json& result) {
  for (const auto& part : result.value("content", Json::array())) {
    if (part.value("type", "") == "image" && part.value("data", std::string()).size() > 100) return true;
  }
  return false;
}

class Journey final {
 public:
  Journey(Door& door, std::string transfer, Report& report)
      : door_(door),
        transfer_(std::move(transfer)),
        name_("doctor-" + policy::random_hex32().substr(0, 12)),
        word_(policy::random_hex32()),
        report_(report) {}

  void take() {
    if (!create()) return;
    if (run() && copy_in() && read_in_guest() && copy_out()) screenshot();
    destroy();
    (void)remove_tree(transfer_ + "/" + name_);
  }

 private:
  // A step is good when its call is, and `check` finds nothing wrong; `check` gives what is wrong, or
  // nothing.
  bool step(const char* name, std::string_view tool, const Json& arguments, std::chrono::milliseconds within,
            const std::string& done, const std::function<std::string(const Json&)>& check) {
    const auto began = Clock::now();
    const auto result = door_.call(tool, arguments, within);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    std::string wrong;
    if (!result) {
      wrong = result.error().message;
    } else if (result->value("isError", false)) {
      wrong = text_of(*result);
    } else {
      wrong = check(*result);
    }
    if (wrong.empty()) {
      report_.add({name, Health::good, done, {}, took});
    } else {
      report_.add(
          {name, Health::bad, wrong.substr(0, 600),
           std::string(report_.healthy() ? "" : "mend the problems above first; ") +
               "`sallyport audit show` has what was decided, owner.log in the state folder what went on",
           took});
    }
    return wrong.empty();
  }

  bool create() {
    return step("create", "sandbox_create", Json::object(), kCreateTime, "a sandbox",
                [&](const Json& result) {
                  sandbox_ = result.value("structuredContent", Json::object()).value("sandbox_id", "");
                  return sandbox_.empty() ? std::string("no id came back") : std::string();
                });
  }
  bool run() {
    return step("run", "sandbox_run", {{"sandbox_id", sandbox_}, {"command", "echo $((6 * 7))"}}, kStepTime,
                "a command ran in it", [&](const Json& result) { return expect_output(result, "42\n"); });
  }
  bool copy_in() {
    const auto folder = transfer_ + "/" + name_;
    auto made = make_exchange_folder(folder);
    if (made) made = write_exchange_file(folder + "/in.txt", word_ + "\n");
    if (!made) {
      report_.add(
          {"copy_in", Health::bad, made.error().message, "let this user write to the transfer folder"});
      return false;
    }
    return step("copy_in", "sandbox_copy_in",
                {{"sandbox_id", sandbox_}, {"host_path", name_ + "/in.txt"}, {"guest_path", "/tmp/in.txt"}},
                kStepTime, "a file went in", [](const Json& result) {
                  const auto files = result.value("structuredContent", Json::object()).value("files", 0);
                  return files == 1 ? std::string() : "not one file arrived, but " + std::to_string(files);
                });
  }
  bool read_in_guest() {
    return step("read", "sandbox_run",
                {{"sandbox_id", sandbox_},
                 {"command", "cat /tmp/in.txt && tr 0-9a-f g-v < /tmp/in.txt > /tmp/out.txt"}},
                kStepTime, "it is the same there",
                [&](const Json& result) { return expect_output(result, word_ + "\n"); });
  }
  bool copy_out() {
    return step("copy_out", "sandbox_copy_out",
                {{"sandbox_id", sandbox_}, {"guest_path", "/tmp/out.txt"}, {"host_path", name_ + "/out.txt"}},
                kStepTime, "a file came out, and it is the right one", [&](const Json&) {
                  const auto text = read_small_file(transfer_ + "/" + name_ + "/out.txt", 4096);
                  if (!text) return text.error().message;
                  std::string expected = word_;
                  for (auto& c : expected) c = static_cast<char>(c <= '9' ? c - '0' + 'g' : c - 'a' + 'q');
                  return *text == expected + "\n" ? std::string() : std::string("another file came out");
                });
  }
  void screenshot() {
    step("screenshot", "sandbox_screenshot", {{"sandbox_id", sandbox_}}, kStepTime, "a picture of its screen",
         [](const Json& result) {
           return has_picture(result) ? std::string() : std::string("no picture came back");
         });
  }
  void destroy() {
    step("destroy", "sandbox_destroy", {{"sandbox_id", sandbox_}}, kStepTime, "it is gone", [&](const Json&) {
      const auto list = door_.call("sandbox_list", Json::object(), kStepTime);
      if (!list) return list.error().message;
      const auto left = list->value("structuredContent", Json::object()).value("sandboxes", Json::array());
      for (const auto& one : left) {
        if (one.value("sandbox_id", "") == sandbox_) return std::string("it is still listed");
      }
      return std::string();
    });
  }

  static std::string expect_output(const Json& result, const std::string& expected) {
    const auto content = result.value("structuredContent", Json::object());
    if (content.value("status", "") != "exited" || content.value("exit_code", -1) != 0) {
      return "the command did not end well: " + content.value("stderr", std::string()).substr(0, 200);
    }
    return content.value("stdout", std::string()) == expected ? std::string()
                                                              : std::string("it printed something else");
  }

  Door& door_;
  std::string transfer_, name_, word_, sandbox_;
  Report& report_;
};

}  // namespace

void journey(Door& door, const std::string& transfer, Report& report) {
  Journey(door, transfer, report).take();
}

}  // namespace gateway::doctor
