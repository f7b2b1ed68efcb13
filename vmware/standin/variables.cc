#include "vmware/standin/variables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policy/utf8.h"
#include "vmware/standin/commands.h"
#include "vmware/standin/guest_session.h"
#include "vmware/standin/machine_entry.h"
#include "vmware/standin/texts.h"
#include "vmware/vmx.h"

namespace standin {
namespace {

using nlohmann::json;
using policy::fail;

constexpr std::size_t kMaxFile = 8 << 20;  // a value's bytes may be six in JSON
constexpr Millis kTurnWait{10000};
constexpr Millis kToolsWait{1500};

enum class Kind { guest, config, environment };

Kind kind_of(std::string_view word) {
  if (vmware::compare_vmx_keys(word, "guestVar") == 0) return Kind::guest;
  return vmware::compare_vmx_keys(word, "runtimeConfig") == 0 ? Kind::config : Kind::environment;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string key_of(Kind kind, const std::string& name) {
  return (kind == Kind::guest ? "guestVar." : "runtimeConfig.") + lower(name);
}

bool is_text(std::string_view value) {
  return policy::is_utf8(value) && std::none_of(value.begin(), value.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 && c != '\t';
         });
}

struct Asked {
  Machine machine;
  RuntimeEntry entry;
  Kind kind;
  std::string name;
};

Result<Asked> ask(const Call& call) {
  auto machine = Machine::open(call.line.vmx);
  if (!machine) return tl::unexpected(machine.error());
  auto entry = entry_of(*machine);
  if (!entry) return tl::unexpected(entry.error());
  const Kind kind = kind_of(call.line.words[0]);
  // A guest's environment is the business of its Tools, which the QEMU guest agent has no word for.
  if (kind == Kind::environment) return fail("unsupported", std::string(texts::kNotSupported));
  const std::string& name = call.line.words[1];
  if (name.empty() || name.size() > Variables::kMaxName || !is_text(name)) {
    return fail("parameter", std::string(texts::kInvalidParameter));
  }
  if (!entry->is_alive() && kind == Kind::guest) {
    return fail("vm.off", std::string(texts::kNotPoweredOn) + ": " + machine->path());
  }
  return Asked{std::move(*machine), std::move(*entry), kind, name};
}

Result<Variables> read_variables(const RuntimeEntry& entry) {
  const auto bytes = read_small_file(entry.file("variables"), kMaxFile);
  if (!bytes && bytes.error().code == "file.absent") return Variables{};
  if (!bytes) return tl::unexpected(bytes.error());
  return Variables::parse(*bytes);
}

}  // namespace

Result<Variables> Variables::parse(std::string_view bytes) {
  const json object = json::parse(bytes, nullptr, false);
  if (!object.is_object()) return fail("variables", "damaged variables");
  Variables variables;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return fail("variables", "damaged variables");
    variables.values.emplace(key, value.get<std::string>());
  }
  return variables;
}

std::string Variables::write() const {
  json object = json::object();
  for (const auto& [key, value] : values) object[key] = value;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::size_t Variables::total() const {
  std::size_t sum = 0;
  for (const auto& [key, value] : values) sum += key.size() + value.size();
  return sum;
}

Result<Answer> read_variable(const Call& call) {
  const auto asked = ask(call);
  if (!asked) return tl::unexpected(asked.error());
  const auto variables = read_variables(asked->entry);
  if (!variables) return fail("vm.variables", std::string(texts::kUnknownError));
  const auto found = variables->values.find(key_of(asked->kind, asked->name));
  if (asked->entry.is_alive() && found != variables->values.end()) return Answer{found->second + "\n"};
  if (asked->kind == Kind::config) return Answer{asked->machine.vmx().get_or(asked->name, "") + "\n"};
  // The Tools keep this one up to date.
  if (lower(asked->name) == "ip") {
    auto session = GuestSession::open(call, kToolsWait);
    const auto address = session ? session->address() : Result<std::string>("");
    return Answer{address.value_or("") + "\n"};
  }
  return Answer{asked->machine.vmx().get_or("guestinfo." + asked->name, "") + "\n"};
}

Result<Answer> write_variable(const Call& call) {
  const auto asked = ask(call);
  if (!asked) return tl::unexpected(asked.error());
  if (!asked->entry.is_alive()) {
    return fail("vm.off", std::string(texts::kNotPoweredOn) + ": " + asked->machine.path());
  }
  const std::string& value = call.line.words[2];
  const auto invalid = fail("parameter", std::string(texts::kInvalidParameter));
  if (value.size() > Variables::kMaxValue || !is_text(value)) return invalid;
  const auto turn = lock_path(asked->entry.file("variables.lock"), after(kTurnWait));
  if (!turn) return fail("vm.in_use", std::string(texts::kFileInUse));
  auto variables = read_variables(asked->entry);
  if (!variables) return fail("vm.variables", std::string(texts::kUnknownError));
  variables->values[key_of(asked->kind, asked->name)] = value;
  if (variables->total() > Variables::kMaxTotal) return invalid;
  if (!write_file_atomically(asked->entry.file("variables"), variables->write())) {
    return fail("vm.variables", std::string(texts::kUnknownError));
  }
  return Answer{};
}

}  // namespace standin
