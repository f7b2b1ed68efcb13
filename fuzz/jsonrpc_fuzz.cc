// Lines from a client to a session of both eras, with calls that end, are cancelled and report progress in
// between: what goes out is always one line of JSON, an id is answered at most as often as it was asked, and
// nothing follows an answer or a cancel. Each call puts a question to the person where the client can be
// asked: its answer comes once, while it is open, and is a yes only where one was sent.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/mcp/line_reader.h"
#include "gateway/mcp/session.h"
#include "gateway/tools/encode.h"
#include "gateway/tools/table.h"
#include "property.h"

namespace {

using fuzz::require;

using namespace gateway;

struct SteppingClock final : policy::Clock {
  std::chrono::sys_time<std::chrono::nanoseconds> wall() const override { return {}; }
  std::chrono::nanoseconds since_boot() const override { return now; }
  std::chrono::nanoseconds now{};
};

class Client {
 public:
  Client() : session_(parts()) {}

  void line(std::string text) {
    // What was sealed cannot be guessed; this is what a client echoes.
    if (const auto at = text.find(kStateMark); at != std::string::npos) {
      text.replace(at, kStateMark.size(), state_);
    }
    note_request(text);
    auto fed = session_.feed(text);
    if (const auto* answer = std::get_if<mcp::Answer>(&fed)) {
      sent(answer->line);
    } else if (const auto* call = std::get_if<mcp::CallRequested>(&fed)) {
      require(call->arguments != nullptr && call->arguments->is_object());
      open_.push_back(call->handle);
      const auto* tool = tools::find(call->tool);
      require(tool != nullptr && tool->visibility == tools::Visibility::everyone);
      if (call->answered) {
        require(call->reach == mcp::Reach::retry && in_results_.contains(call->answered->question));
        note_answer(*call->answered, text);
      }
      ask(*call);
      decide(call->handle, *tool, *call->arguments);
    } else if (const auto* answered = std::get_if<mcp::Answered>(&fed)) {
      require(open_forms_.erase(answered->question) == 1);
      note_answer(*answered, text);
    } else if (const auto* cancel = std::get_if<mcp::CancelRequested>(&fed)) {
      require(cancelled_.insert(cancel->handle).second);
    }
  }
  void too_long() { sent(session_.feed_too_long().line); }

  // A byte of input drives what happens between two lines.
  void meanwhile(std::uint8_t choice) {
    clock_.now += std::chrono::milliseconds(choice * 16);
    if (open_.empty()) return;
    const auto handle = open_[choice % open_.size()];
    const auto progress = session_.progress(handle, choice, 255, "step");
    require(progress.empty() || (!cancelled_.contains(handle) && !done_.contains(handle)));
    if (!progress.empty()) sent(progress);
    if (choice % 3 == 0) complete(handle, tools::typed(1));
    if (choice % 7 == 0 && !open_forms_.empty()) {
      const auto question = *open_forms_.begin();
      open_forms_.erase(open_forms_.begin());
      require(!session_.withdraw(question).empty() && session_.withdraw(question).empty());
    }
  }

 private:
  static constexpr std::string_view kStateMark = "@state@";

  static void note_answer(const mcp::Answered& answered, const std::string& text) {
    // Letters can be written as escapes.
    if (answered.said != mcp::Said::yes || text.find('\\') != std::string::npos) return;
    require(text.find("\"accept\"") != std::string::npos && text.find("\"approve\"") != std::string::npos);
  }
  void ask(const mcp::CallRequested& call) {
    const mcp::Elicitation question{"ask-" + std::to_string(++questions_), "may it?"};
    const auto form = session_.elicit(question);
    if (!form.empty()) {
      const auto json = nlohmann::json::parse(form, nullptr, false);
      require(json.is_object() && json.at("method") == "elicitation/create");
      require(form_ids_.insert(json.at("id")).second);
      open_forms_.insert(question.question);
    }
    if (call.reach != mcp::Reach::retry) return;
    const auto result = complete(call.handle, question);
    if (result.empty()) return;
    state_ = nlohmann::json::parse(result).at("result").at("requestState");
    in_results_.insert(question.question);
  }

  // The list itself is no parser's business and would only slow the search.
  static const mcp::Tools& listed() {
    static const mcp::Tools known{R"([{"name":"sandbox_list","inputSchema":{"type":"object"}}])",
                                  tools::callable_names()};
    return known;
  }
  mcp::Session::Parts parts() {
    return {.server_version = "0",
            .instructions = "",
            .tools = []() -> const mcp::Tools& { return listed(); },
            .clock = &clock_,
            .max_calls = 8};
  }
  std::string complete(mcp::CallHandle handle, const auto& result) {
    const auto answer = session_.complete(handle, result);
    require(answer.empty() == (cancelled_.contains(handle) || done_.contains(handle)));
    done_.insert(handle);
    if (!answer.empty()) sent(answer);
    return answer;
  }
  // Arguments that are refused end the call at once.
  void decide(mcp::CallHandle handle, const tools::Tool& tool, const nlohmann::json& arguments) {
    const auto call = tools::decode(tool, arguments);
    if (!call) complete(handle, tools::bad_argument(call.error()));
  }
  void note_request(const std::string& text) {
    const auto message = mcp::parse_message(text);
    if (const auto* request = std::get_if<mcp::Request>(&message)) ++asked_[mcp::spelling(request->id)];
    if (const auto* invalid = std::get_if<mcp::Invalid>(&message); invalid != nullptr && invalid->id) {
      ++asked_[mcp::spelling(*invalid->id)];
    }
  }
  void sent(const std::string& line) {
    require(line.find('\n') == std::string::npos);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    require(json.is_object() && json.at("jsonrpc") == "2.0");
    if (!json.contains("id")) return;
    require(--asked_[json.at("id").dump()] >= 0);
  }

  SteppingClock clock_;
  mcp::Session session_;
  std::vector<mcp::CallHandle> open_;
  std::set<mcp::CallHandle> cancelled_, done_;
  std::map<std::string, int> asked_;
  std::uint64_t questions_ = 0;
  std::set<std::string> open_forms_, in_results_, form_ids_;
  std::string state_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  auto text = fuzz::text_of(bytes, size);
  Client client;
  mcp::LineReader lines(std::size_t{1} << 16);
  // Bytes arrive in pieces; the size of each comes from the input too.
  while (!text.empty()) {
    const auto piece = text.substr(0, 1 + static_cast<std::uint8_t>(text.front()));
    lines.push(piece);
    text.remove_prefix(piece.size());
    while (auto line = lines.next()) {
      if (line->kind == mcp::LineReader::Kind::too_long) {
        client.too_long();
      } else {
        client.line(line->text);
      }
      client.meanwhile(
          static_cast<std::uint8_t>(line->text.size() * 37 + static_cast<std::uint8_t>(piece.back())));
    }
  }
  if (auto line = lines.finish()) client.line(line->text);
  return 0;
}
