#include "gateway/cli/client.h"

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/cli/printable.h"
#include "gateway/net/unix_socket.h"
#include "gateway/owner/deployment.h"
#include "gateway/owner/spawn.h"
#include "gateway/settings/folder.h"

namespace gateway::cli {
namespace {

constexpr std::size_t kMaxLine = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kStart{10'000};
constexpr std::chrono::milliseconds kServicePatience{5'000};

}  // namespace

int complain(const policy::Error& error) {
  std::fprintf(stderr, "sallyport: %s%s%s [%s]\n", error.where.c_str(), error.where.empty() ? "" : ": ",
               error.message.c_str(), error.code.c_str());
  return 1;
}

std::vector<std::string> same_settings(const Sources& sources) {
  std::vector<std::string> words;
  if (sources.config_flag) words.insert(words.end(), {"--config", *sources.config_flag});
  for (const auto& [name, value] : sources.flags) {
    std::string flag = "--" + name;
    for (auto& c : flag) c = c == '_' ? '-' : c;
    words.insert(words.end(), {flag, value});
  }
  return words;
}

namespace {

Result<Descriptor> reach(const Sources& sources, const Settings& settings) {
  auto service = find_service(settings, kServiceSocket, kServicePatience);
  if (!service) return tl::unexpected(service.error());
  if (*service) return std::move(**service);
  if (settings.state_dir.empty()) {
    return tl::unexpected(settings.problems.empty()
                              ? policy::Error{"settings.state_dir", "no place for state; set `state_dir`"}
                              : settings.problems.front());
  }
  if (auto made = make_private_folder(settings.state_dir); !made) return tl::unexpected(made.error());
  return reach_owner(settings.state_dir, settings.socket_path(), own_executable(), same_settings(sources),
                     kStart);
}

}  // namespace

Result<Descriptor> greet_owner(const Sources& sources, const Settings& settings, Hello::Kind kind,
                               std::span<const int> descriptors, std::string name, std::string options) {
  auto connection = reach(sources, settings);
  if (!connection) return connection;
  const Hello hello{kind, SALLYPORT_VERSION, settings.digest.hex(), std::move(name), std::move(options)};
  if (auto sent = send_greeting(connection->get(), hello.encode(), descriptors, kStart); !sent) {
    return tl::unexpected(sent.error());
  }
  return connection;
}

Result<nlohmann::json> read_answer(const Descriptor& owner, std::size_t max,
                                   std::chrono::milliseconds within) {
  std::string buffered;
  const auto line = read_line(owner.get(), buffered, max, within);
  if (!line) return tl::unexpected(line.error());
  auto answer = nlohmann::json::parse(*line, nullptr, false);
  if (!answer.is_object()) return policy::fail("owner.answer", "the owner's answer is not what it should be");
  const auto error = answer.find("error");
  if (error == answer.end()) return answer;
  const auto code = answer.find("code");
  return policy::fail(code != answer.end() && code->is_string() ? code->get<std::string>() : "owner.error",
                      error->is_string() ? printable_line(error->get_ref<const std::string&>()) : "");
}

Result<Client> Client::open(const Sources& sources) {
  auto connection = greet_owner(sources, load_settings(sources), Hello::Kind::cli);
  if (!connection) return tl::unexpected(connection.error());
  Client client(std::move(*connection));
  const nlohmann::json hello{{"jsonrpc", "2.0"},
                             {"id", 0},
                             {"method", "initialize"},
                             {"params",
                              {{"protocolVersion", "2025-11-25"},
                               {"capabilities", nlohmann::json::object()},
                               {"clientInfo", {{"name", "sallyport"}, {"version", SALLYPORT_VERSION}}}}}};
  if (auto sent = write_all(client.connection_.get(), hello.dump() + "\n", kStart); !sent) {
    return tl::unexpected(sent.error());
  }
  if (auto answer = read_line(client.connection_.get(), client.buffered_, kMaxLine, kStart); !answer) {
    return tl::unexpected(answer.error());
  }
  return client;
}

Result<nlohmann::json> Client::call(std::string_view tool, const nlohmann::json& arguments,
                                    std::chrono::milliseconds within) {
  const int id = next_id_++;
  const nlohmann::json request{
      {"jsonrpc", "2.0"},
      {"id", id},
      {"method", "tools/call"},
      {"params", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", id}}}}}};
  std::string words;
  try {
    words = request.dump() + "\n";
  } catch (const nlohmann::json::type_error&) {
    return policy::fail("usage", "an argument is not UTF-8; ids, commands and paths are");
  }
  if (auto sent = write_all(connection_.get(), words, within); !sent) {
    return tl::unexpected(sent.error());
  }
  while (true) {
    const auto line = read_line(connection_.get(), buffered_, kMaxLine, within);
    if (!line) return tl::unexpected(line.error());
    const auto message = nlohmann::json::parse(*line, nullptr, false);
    if (!message.is_object())
      return policy::fail("owner.answer", "the owner's answer is not what it should be");
    if (message.value("method", "") == "notifications/progress") {
      std::fprintf(stderr, "  %s\n", message["params"].value("message", "").c_str());
      continue;
    }
    if (message.value("id", -1) != id) continue;
    if (message.contains("error")) {
      return policy::fail("owner.answer", message["error"].value("message", "the owner refused the request"));
    }
    return message["result"];
  }
}

bool failed(const nlohmann::json& result) { return result.value("isError", false); }

int complain(const nlohmann::json& result) {
  std::string text;
  for (const auto& part : result.value("content", nlohmann::json::array()))
    text += part.value("text", "") + "\n";
  std::fprintf(stderr, "%s", text.c_str());
  return 1;
}

}  // namespace gateway::cli
