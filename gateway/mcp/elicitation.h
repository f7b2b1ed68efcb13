#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "gateway/mcp/message.h"
#include "gateway/mcp/seal.h"
#include "policy/result.h"

// Asking a person through the client: `elicitation/create` in form mode, with one box to tick.
namespace gateway::mcp {

struct Elicitation {
  std::string question;  // its id, for us
  std::string message;   // for the person
};

// What the client says the person did. Only a form that was sent with the box ticked is a yes.
enum class Said { yes, no, dismissed, unreadable };

struct Answered {
  std::string question;
  Said said = Said::unreadable;
};

// A client's ElicitResult; null is none. Strict: a member, a value or a type that is not expected makes it
// unreadable. What comes with a refusal is not looked at.
Said said_in(const nlohmann::json* result);

// Whether a client with these capabilities shows forms in this revision; null is none.
bool takes_forms(const nlohmann::json* capabilities, std::string_view revision);

// A modern result that puts the question, as members without braces; `state` is sealed.
std::string asked_again_members(const Elicitation&, std::string_view revision, std::string_view state);
// What the params of a call bring back of such a question. Nothing where its answer is missing, so that it is
// put again; answers to what was not asked are passed over. An error where the state is not what was sealed
// for this context.
policy::Result<std::optional<Answered>> carried_in(const nlohmann::json* params, const Seal& seal,
                                                   std::string_view context);

// Our requests to a client of the legacy era that have no answer yet.
class OpenForms final {
 public:
  std::string put(const Elicitation&, std::string_view revision);
  // The notice that the question is over; empty when it is not open.
  std::string withdraw(std::string_view question);
  // Nothing when no request of ours waits for this. Each is answered once.
  std::optional<Answered> answered(const Response&);

 private:
  std::map<std::string, std::string, std::less<>> open_;  // id of the request -> question
  std::uint64_t last_ = 0;
};

}  // namespace gateway::mcp
