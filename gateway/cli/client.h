#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gateway/net/descriptor.h"
#include "gateway/owner/greeting.h"
#include "gateway/settings/settings.h"

namespace gateway::cli {

// Says what is wrong on stderr, one line, and gives 1.
int complain(const policy::Error&);

// The words that make another process of ours read the same settings.
std::vector<std::string> same_settings(const Sources&);

// A connection to the owner of these settings, greeted; started when it does not run. Settings that give no
// state folder are an error here.
Result<Descriptor> greet_owner(const Sources&, const Settings&, Hello::Kind,
                               std::span<const int> descriptors = {}, std::string name = {},
                               std::string options = {});

// The one line of JSON with which the owner answers, of at most `max` bytes; an answer that is an error is
// one. Nothing of it is relied on: it may be the owner of somebody with fewer rights.
Result<nlohmann::json> read_answer(const Descriptor& owner, std::size_t max,
                                   std::chrono::milliseconds within);

// One greeting and its answer, one line of JSON. An answer that is an error is one.
Result<nlohmann::json> ask_owner(const Sources&, Hello::Kind, std::chrono::milliseconds within,
                                 std::span<const int> descriptors = {}, std::string name = {},
                                 std::string options = {});

// A session with the owner for commands: tool calls over the same door as an MCP client's, as transport
// `cli`.
class Client final {
 public:
  static Result<Client> open(const Sources&);
  // One tool call to its end; progress goes to stderr. An answer that is no result is an Error.
  Result<nlohmann::json> call(std::string_view tool, const nlohmann::json& arguments,
                              std::chrono::milliseconds within);

 private:
  explicit Client(Descriptor connection) : connection_(std::move(connection)) {}
  Descriptor connection_;
  std::string buffered_;
  int next_id_ = 1;
};

// Prints a failed result's text on stderr and gives 1.
int complain(const nlohmann::json& result);
bool failed(const nlohmann::json& result);

}  // namespace gateway::cli
