#include "gateway/mcp/session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/mcp/utf8.h"
#include "gateway/mcp/writer.h"
#include "policy/digest.h"
#include "policy/json.h"

namespace gateway::mcp {
namespace {

using nlohmann::json;
using policy::canonical_string;

// Calls that end sooner send no progress: clients stumble over a notice for a call they have just finished.
constexpr std::chrono::seconds kQuietTime{1};
// How long a client may keep the tool list and the discovery; a new policy shows at the latest then.
constexpr int kListTtlMs = 60'000;
constexpr int kDiscoverTtlMs = 3'600'000;
constexpr std::size_t kMaxSelfDeclared = 200;
constexpr std::size_t kMaxCancelReason = 500;

constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kMetaClient = "io.modelcontextprotocol/clientInfo";
constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";

const json* member(const json* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto at = object->find(key);
  return at == object->end() ? nullptr : &*at;
}

const std::string* text_of(const json* value) {
  return value != nullptr && value->is_string() ? &value->get_ref<const std::string&>() : nullptr;
}

// What a client says of itself, short enough to log.
std::string self_declared(const json* value) {
  const auto* text = text_of(value);
  return text == nullptr ? std::string() : std::string(utf8_prefix(*text, kMaxSelfDeclared));
}

std::string json_string(std::string_view text) {
  std::string out;
  canonical_string(text, out);
  return out;
}

template <class Range>
std::string string_array(const Range& range) {
  std::string out = "[";
  for (const std::string_view item : range) out += (out.size() > 1 ? "," : "") + json_string(item);
  return out + "]";
}

// Anything but a string or an integer is no token; null counts as none.
enum class TokenFault { none, malformed };
TokenFault progress_token(const json* params, std::string& token) {
  const json* value = member(member(params, "_meta"), "progressToken");
  if (value == nullptr || value->is_null()) return TokenFault::none;
  if (const auto* text = text_of(value); text != nullptr && text->size() <= kMaxIdBytes) {
    token = json_string(*text);
    return TokenFault::none;
  }
  if (!value->is_number_integer()) return TokenFault::malformed;
  token = std::to_string(value->get<std::int64_t>());
  return TokenFault::none;
}

struct Fault {
  int code;
  std::string message;
  std::string data = {};
};

ToolResult too_many_calls(std::size_t max) {
  const std::string reason = "refused: " + std::to_string(max) + " calls are in flight on this connection";
  const std::string hint = "wait for one of them to end, then call again";
  ToolResult result;
  result.outcome = ToolOutcome::error;
  result.content.emplace_back(Text{reason + "; " + hint});
  result.structured = R"({"class":"limit","code":"limit.calls_in_flight","decision":"error","hint":)" +
                      json_string(hint) + R"(,"reason":)" + json_string(reason) + R"(,"retryable":true})";
  return result;
}

}  // namespace

struct Session::State {
  struct Call {
    RequestId id;
    Era era;
    std::string token;  // JSON; empty when no progress is wanted
    std::chrono::nanoseconds began{};
    std::optional<int> sent;  // progress last sent
    bool cancelled = false;
    std::string sealed_for;  // of Reach::retry: whose call of what it is
  };

  Parts parts;
  std::string server_info;           // JSON
  std::string modern_head;           // first members of every modern result, with a comma behind
  std::optional<ClientInfo> legacy;  // set by `initialize`
  Reach legacy_reach = Reach::none;
  OpenForms forms;
  std::string listed;  // what a legacy client was last told of the tools
  std::map<CallHandle, Call> calls;
  std::map<RequestId, CallHandle> by_id;  // not cancelled
  std::uint64_t last_handle = 0;

  Fed request(Request request);
  Fed notification(const Notification&);
  std::optional<Call> finish(CallHandle);

  // One row a method; what is in no row does not exist here, whatever a revision knows beside it.
  enum class Eras { legacy, modern, both };
  struct Method {
    std::string_view name;
    Eras eras;
    Fed (State::*serve)(const Request&, const ClientInfo&);
  };
  static const Method kMethods[];

  Fed initialize(const Request&, const ClientInfo&);
  Fed ping(const Request&, const ClientInfo&);
  Fed discover(const Request&, const ClientInfo&);
  Fed tools_list(const Request&, const ClientInfo&);
  Fed tools_call(const Request&, const ClientInfo&);

  static Answer refuse(const RequestId& id, const Fault& fault) {
    return Answer{error_line(id, fault.code, fault.message, fault.data), fault.code};
  }
  std::string context_of(const std::string& tool, const json& arguments) const {
    return policy::sha256(parts.principal + '\n' + tool + '\n' + arguments.dump()).hex();
  }
  // `members` of a result object, without braces.
  Answer answer(const RequestId& id, Era era, std::string_view members) const {
    std::string body = "{";
    if (era == Era::modern) body += modern_head;
    body += members;
    if (body.back() == ',') body.pop_back();
    body += '}';
    return Answer{result_line(id, body), 0};
  }
  std::string introduction(Era era) const {
    std::string members = era == Era::legacy ? R"("capabilities":{"tools":{"listChanged":true}})"
                                             : R"("capabilities":{"tools":{}})";
    if (!parts.instructions.empty()) members += R"(,"instructions":)" + json_string(parts.instructions);
    return members;
  }
  static std::optional<Fault> judge_meta(const json& meta, const json& version, ClientInfo& client);
};

const Session::State::Method Session::State::kMethods[] = {
    {"initialize", Eras::legacy, &State::initialize},    {"ping", Eras::legacy, &State::ping},
    {"server/discover", Eras::modern, &State::discover}, {"tools/list", Eras::both, &State::tools_list},
    {"tools/call", Eras::both, &State::tools_call},
};

// The envelope of a modern request. `version` is the member that made it one.
std::optional<Fault> Session::State::judge_meta(const json& meta, const json& version, ClientInfo& client) {
  const auto bad = [](std::string_view key, std::string_view rule) {
    return Fault{code::kInvalidParams, "`_meta[\"" + std::string(key) + "\"]` " + std::string(rule)};
  };
  const auto* asked = text_of(&version);
  if (asked == nullptr) return bad(kMetaVersion, "must be a string");
  if (std::ranges::find(kModernRevisions, *asked) == std::end(kModernRevisions)) {
    return Fault{code::kUnsupportedVersion, "unsupported protocol version",
                 R"({"supported":)" + string_array(kModernRevisions) + R"(,"requested":)" +
                     json_string(utf8_prefix(*asked, kMaxSelfDeclared)) + "}"};
  }
  const json* capabilities = member(&meta, kMetaCapabilities);
  if (capabilities == nullptr || !capabilities->is_object()) {
    return bad(kMetaCapabilities, "must be an object; it may be empty");
  }
  const json* info = member(&meta, kMetaClient);
  if (info != nullptr &&
      (text_of(member(info, "name")) == nullptr || text_of(member(info, "version")) == nullptr)) {
    return bad(kMetaClient, "must be an object with `name` and `version`");
  }
  client = ClientInfo{self_declared(member(info, "name")), self_declared(member(info, "version")), *asked,
                      Era::modern};
  return std::nullopt;
}

Fed Session::State::request(Request asked) {
  if (by_id.contains(asked.id)) {
    return refuse(asked.id, {code::kInvalidRequest, "a request with this id is still being answered"});
  }
  const json* meta = member(asked.params.get(), "_meta");
  const json* version = member(meta, kMetaVersion);

  ClientInfo client;
  if (version != nullptr) {
    if (auto fault = judge_meta(*meta, *version, client)) return refuse(asked.id, *fault);
  } else if (legacy) {
    client = *legacy;
  }
  const Eras absent = version != nullptr ? Eras::legacy : Eras::modern;
  const auto method = std::ranges::find(kMethods, asked.method, &Method::name);
  if (method == std::end(kMethods) || (method->eras == absent && (version != nullptr || legacy))) {
    return refuse(asked.id, {code::kMethodNotFound, "no such method"});
  }
  const bool opens_legacy = method->eras == Eras::legacy;
  if (version == nullptr && !legacy && !opens_legacy) {
    return refuse(asked.id,
                  {code::kInvalidParams, "`_meta[\"" + std::string(kMetaVersion) +
                                             "\"]` is missing; older clients send `initialize` first"});
  }
  return (this->*method->serve)(asked, client);
}

Fed Session::State::initialize(const Request& asked, const ClientInfo&) {
  if (legacy) return refuse(asked.id, {code::kInvalidRequest, "already initialized"});
  const auto* version = text_of(member(asked.params.get(), "protocolVersion"));
  if (version == nullptr) {
    return refuse(asked.id, {code::kInvalidParams, "`protocolVersion` must be a string"});
  }
  const auto known = std::ranges::find(kLegacyRevisions, *version);
  const std::string_view chosen = known == std::end(kLegacyRevisions) ? kLegacyRevisions[0] : *known;
  const json* info = member(asked.params.get(), "clientInfo");
  legacy = ClientInfo{self_declared(member(info, "name")), self_declared(member(info, "version")),
                      std::string(chosen), Era::legacy};
  if (takes_forms(member(asked.params.get(), "capabilities"), chosen)) legacy_reach = Reach::request;
  return answer(asked.id, Era::legacy,
                R"("protocolVersion":)" + json_string(chosen) + R"(,"serverInfo":)" + server_info + "," +
                    introduction(Era::legacy));
}

Fed Session::State::ping(const Request& asked, const ClientInfo&) {
  return answer(asked.id, Era::legacy, "");
}

Fed Session::State::discover(const Request& asked, const ClientInfo&) {
  return answer(asked.id, Era::modern,
                R"("supportedVersions":)" + string_array(kModernRevisions) + "," + introduction(Era::modern) +
                    R"(,"ttlMs":)" + std::to_string(kDiscoverTtlMs) + R"(,"cacheScope":"private")");
}

Fed Session::State::tools_list(const Request& asked, const ClientInfo& client) {
  const json* cursor = member(asked.params.get(), "cursor");
  if (cursor != nullptr && !cursor->is_null()) {
    return refuse(asked.id, {code::kInvalidParams, "unknown cursor; the list has one page"});
  }
  const auto& list = parts.tools().list;
  if (client.era == Era::legacy) listed = list;
  std::string members = R"("tools":)" + list;
  if (client.era == Era::modern) {
    members += R"(,"ttlMs":)" + std::to_string(kListTtlMs) + R"(,"cacheScope":"private")";
  }
  return answer(asked.id, client.era, members);
}

Fed Session::State::tools_call(const Request& asked, const ClientInfo& client) {
  const json* params = asked.params.get();
  const auto invalid = [&](std::string message) {
    return refuse(asked.id, {code::kInvalidParams, std::move(message)});
  };
  const auto* name = text_of(member(params, "name"));
  if (name == nullptr) return invalid("`name` must be a string");
  const auto& names = parts.tools().names;
  if (std::ranges::find(names, *name) == names.end()) {
    return invalid("unknown tool `" + std::string(utf8_prefix(*name, kMaxSelfDeclared)) +
                   "`; see tools/list");
  }
  const json* arguments = member(params, "arguments");
  if (arguments != nullptr && !arguments->is_object() && !arguments->is_null()) {
    return invalid("`arguments` must be an object");
  }
  std::string token;
  if (progress_token(params, token) == TokenFault::malformed) {
    return invalid("`_meta.progressToken` must be a string or an integer");
  }
  if (calls.size() >= parts.max_calls) {
    return answer(asked.id, client.era, tool_result_members(too_many_calls(parts.max_calls)));
  }

  const bool given = arguments != nullptr && arguments->is_object();
  auto words = given ? JsonPtr(asked.params, arguments) : std::make_shared<const json>(json::object());
  Reach reach = client.era == Era::legacy ? legacy_reach : Reach::none;
  std::optional<Answered> answered;
  std::string sealed_for;
  if (client.era == Era::modern) {
    const json* capabilities = member(member(params, "_meta"), kMetaCapabilities);
    if (takes_forms(capabilities, client.protocol)) reach = Reach::retry;
    const bool retries = member(params, "requestState") != nullptr;
    if (retries || reach == Reach::retry) sealed_for = context_of(*name, *words);
    auto carried = carried_in(params, *parts.seal, sealed_for);
    if (!carried) return invalid(carried.error().message);
    if (reach == Reach::retry) answered = std::move(*carried);
  }

  const CallHandle handle{++last_handle};
  const bool wants_progress = !token.empty();
  calls.emplace(handle, Call{asked.id,
                             client.era,
                             std::move(token),
                             parts.clock->since_boot(),
                             {},
                             false,
                             std::move(sealed_for)});
  by_id.emplace(asked.id, handle);
  return CallRequested{handle,         asked.id, *name, std::move(words),
                       wants_progress, client,   reach, std::move(answered)};
}

Fed Session::State::notification(const Notification& told) {
  if (told.method != "notifications/cancelled") return Silence{};
  const json* which = member(told.params.get(), "requestId");
  std::optional<RequestId> id;
  if (const auto* text = text_of(which)) id = *text;
  if (which != nullptr && which->is_number_integer()) id = which->get<std::int64_t>();
  const auto at = id ? by_id.find(*id) : by_id.end();
  if (at == by_id.end()) return Silence{};  // already answered, or never asked
  const CallHandle handle = at->second;
  by_id.erase(at);
  calls.at(handle).cancelled = true;
  const auto* reason = text_of(member(told.params.get(), "reason"));
  return CancelRequested{
      handle, reason == nullptr ? std::string() : std::string(utf8_prefix(*reason, kMaxCancelReason))};
}

// The call that ends now; nothing when nobody waits for its answer any more.
std::optional<Session::State::Call> Session::State::finish(CallHandle handle) {
  const auto at = calls.find(handle);
  if (at == calls.end()) return std::nullopt;
  Call call = std::move(at->second);
  calls.erase(at);
  if (call.cancelled) return std::nullopt;
  by_id.erase(call.id);
  return call;
}

Session::Session(Parts parts) : state_(std::make_unique<State>()) {
  state_->parts = std::move(parts);
  auto& own = state_->parts;
  // Every later use relies on them.
  if (!own.tools || own.clock == nullptr) std::abort();
  if (!own.seal) own.seal = std::make_shared<const Seal>();
  state_->server_info = R"({"name":)" + json_string(own.server_name) + R"(,"title":)" +
                        json_string(own.server_title) + R"(,"version":)" + json_string(own.server_version) +
                        "}";
  state_->modern_head =
      R"("resultType":"complete","_meta":{)" + json_string(kMetaServer) + ":" + state_->server_info + "},";
}

Session::~Session() = default;

Fed Session::feed(std::string_view line) {
  Message message = parse_message(line);
  if (auto* asked = std::get_if<Request>(&message)) return state_->request(std::move(*asked));
  if (const auto* told = std::get_if<Notification>(&message)) return state_->notification(*told);
  if (const auto* invalid = std::get_if<Invalid>(&message)) {
    return Answer{error_line(invalid->id, invalid->code, invalid->message), invalid->code};
  }
  if (auto answered = state_->forms.answered(std::get<Response>(message))) return std::move(*answered);
  return Silence{};
}

Answer Session::feed_too_long() {
  const std::string message = "longer than " + std::to_string(JsonLimits{}.bytes) + " bytes";
  return Answer{error_line(std::nullopt, code::kInvalidRequest, message), code::kInvalidRequest};
}

std::string Session::complete(CallHandle handle, const ToolResult& result) {
  const auto call = state_->finish(handle);
  if (!call) return {};
  return state_->answer(call->id, call->era, tool_result_members(result)).line;
}

std::string Session::complete(CallHandle handle, const Elicitation& asked) {
  const auto call = state_->finish(handle);
  if (!call) return {};
  // INVARIANT: only Reach::retry has it; what is asked for nobody could be answered for anybody.
  if (call->sealed_for.empty()) std::abort();
  const auto state = state_->parts.seal->close(asked.question, call->sealed_for);
  return result_line(call->id, R"({"resultType":"input_required","_meta":{)" + json_string(kMetaServer) +
                                   ":" + state_->server_info + "}," +
                                   asked_again_members(asked, kModernRevisions[0], state) + "}");
}

std::string Session::elicit(const Elicitation& asked) {
  if (state_->legacy_reach != Reach::request) return {};
  return state_->forms.put(asked, state_->legacy->protocol);
}

std::string Session::withdraw(std::string_view question) { return state_->forms.withdraw(question); }

std::string Session::progress(CallHandle handle, int done, int total, std::string_view message) {
  const auto at = state_->calls.find(handle);
  if (at == state_->calls.end()) return {};
  auto& call = at->second;
  if (call.cancelled || call.token.empty() || (call.sent && done <= *call.sent)) return {};
  if (state_->parts.clock->since_boot() - call.began < kQuietTime) return {};
  call.sent = done;
  return progress_line(call.token, done, total, message);
}

std::string Session::tools_changed() {
  const auto& list = state_->parts.tools().list;
  if (state_->listed.empty() || state_->listed == list) return {};
  state_->listed = list;
  return R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
}

std::vector<CallHandle> Session::in_flight() const {
  std::vector<CallHandle> handles;
  for (const auto& [handle, call] : state_->calls) handles.push_back(handle);
  return handles;
}

std::optional<ClientInfo> Session::client() const { return state_->legacy; }

}  // namespace gateway::mcp
