#include "policy/facts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace policy {
namespace {

template <class A, std::size_t I = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<A, std::variant_alternative_t<I, Action>>) {
    return I;
  } else {
    return index_of<A, I + 1>();
  }
}

template <class... As>
constexpr ActionSet set_of() {
  return ActionSet(((1ULL << index_of<As>()) | ...));
}

constexpr auto kWeb = set_of<Fetch, Tunnel>();
constexpr auto kAny =
    ActionSet(((1ULL << std::variant_size_v<Action>)-1) &
              ~((1ULL << index_of<Vmrun>()) | (1ULL << index_of<Fetch>()) | (1ULL << index_of<Tunnel>())));
constexpr auto kWithSandbox = set_of<Run, Start, Check, Stop, CopyIn, FetchOut, PublishOut, Screenshot, Click,
                                     TypeText, PressKey, Extend, Destroy, Fetch, Tunnel>();

constexpr std::array<std::string_view, 3> kNetworks{"none", "web", "nat"};
constexpr std::array<std::string_view, 3> kButtons{"left", "right", "middle"};
constexpr std::array<std::string_view, 7> kCauses{"asked",       "expired",  "orphaned", "rolled_back",
                                                  "kill_switch", "shutdown", "withdrawn"};

constexpr std::array<std::string_view, 2> kSchemes{"http", "https"};
constexpr std::array<std::string_view, 3> kTls{"none", "inspect", "passthrough"};

constexpr std::array<FactInfo, kFacts> kTable{{
    {Fact::network, "network", FactKind::word, set_of<Create>(), kNetworks},
    {Fact::command, "command", FactKind::text, set_of<Run, Start>()},
    {Fact::timeout, "timeout", FactKind::duration, set_of<Run>()},
    {Fact::host_path, "host_path", FactKind::host_path, set_of<CopyIn, FetchOut, PublishOut>()},
    {Fact::guest_path, "guest_path", FactKind::guest_path, set_of<CopyIn, FetchOut, PublishOut>()},
    {Fact::bytes, "bytes", FactKind::size, set_of<CopyIn, FetchOut, PublishOut>()},
    {Fact::files, "files", FactKind::number, set_of<CopyIn, FetchOut, PublishOut>()},
    {Fact::button, "button", FactKind::word, set_of<Click>(), kButtons},
    {Fact::count, "count", FactKind::number, set_of<Click>()},
    {Fact::chars, "chars", FactKind::number, set_of<TypeText>()},
    {Fact::keys, "keys", FactKind::text, set_of<PressKey>()},
    {Fact::by, "by", FactKind::duration, set_of<Extend>()},
    {Fact::cause, "cause", FactKind::word, set_of<Destroy>(), kCauses},
    {Fact::name, "name", FactKind::text, set_of<BuildImage, RemoveImage>()},
    {Fact::image, "image", FactKind::text, set_of<Create>()},
    {Fact::cpus, "cpus", FactKind::number, set_of<Create>()},
    {Fact::memory_mb, "memory_mb", FactKind::number, set_of<Create>()},
    {Fact::disk_gb, "disk_gb", FactKind::number, set_of<Create>()},
    {Fact::sandbox_network, "sandbox.network", FactKind::word, kWithSandbox, kNetworks},
    {Fact::sandbox_age, "sandbox.age", FactKind::duration, kWithSandbox},
    {Fact::sandbox_labels, "sandbox.labels", FactKind::labels, kWithSandbox},
    {Fact::method, "method", FactKind::text, kWeb},
    {Fact::scheme, "scheme", FactKind::word, kWeb, kSchemes},
    {Fact::host, "host", FactKind::host, kWeb},
    {Fact::port, "port", FactKind::number, kWeb},
    {Fact::path, "path", FactKind::url_path, kWeb},
    {Fact::url, "url", FactKind::text, kWeb},
    {Fact::tls, "tls", FactKind::word, kWeb, kTls},
    {Fact::address, "address", FactKind::addresses, kWeb},
}};

constexpr std::array<ActionWord, 22> kWords{{
    {"any", kAny},
    {Create::kName, set_of<Create>()},
    {List::kName, set_of<List>()},
    {Run::kName, set_of<Run>()},
    {Start::kName, set_of<Start>()},
    {Check::kName, set_of<Check>()},
    {Stop::kName, set_of<Stop>()},
    {CopyIn::kName, set_of<CopyIn>()},
    {FetchOut::kName, set_of<FetchOut, PublishOut>()},
    {PublishOut::kName, set_of<PublishOut>()},
    {Screenshot::kName, set_of<Screenshot>()},
    {Click::kName, set_of<Click>()},
    {TypeText::kName, set_of<TypeText>()},
    {PressKey::kName, set_of<PressKey>()},
    {Extend::kName, set_of<Extend>()},
    {Destroy::kName, set_of<Destroy>()},
    {KillSwitch::kName, set_of<KillSwitch>()},
    {Approve::kName, set_of<Approve>()},
    {BuildImage::kName, set_of<BuildImage>()},
    {RemoveImage::kName, set_of<RemoveImage>()},
    {Fetch::kName, set_of<Fetch>()},
    {Tunnel::kName, set_of<Tunnel>()},
}};

std::int64_t saturated(std::uint64_t value) {
  constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, max));
}

std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// What an action says of a fact. Whatever an action does not have is unknown.
struct Reader {
  Fact fact;

  Value operator()(const Create& a) const {
    if (fact == Fact::network) return spelling(a.network);
    if (fact == Fact::image) return a.image.empty() ? std::string_view("default") : std::string_view(a.image);
    if (fact == Fact::cpus) return std::int64_t{a.cpus};
    if (fact == Fact::memory_mb) return std::int64_t{a.memory_mb};
    return fact == Fact::disk_gb ? Value(std::int64_t{a.disk_gb}) : Value();
  }
  Value operator()(const Run& a) const {
    if (fact == Fact::command) return std::string_view(a.command);
    return fact == Fact::timeout ? Value(std::int64_t{a.timeout.count()}) : Value();
  }
  Value operator()(const Start& a) const {
    return fact == Fact::command ? Value(std::string_view(a.command)) : Value();
  }
  Value operator()(const CopyIn& a) const { return copied(a); }
  Value operator()(const FetchOut& a) const {
    if (fact == Fact::bytes || fact == Fact::files) return Later{};
    return paths(a);
  }
  Value operator()(const PublishOut& a) const { return copied(a); }
  Value operator()(const Click& a) const {
    if (fact == Fact::button) return spelling(a.button);
    return fact == Fact::count ? Value(std::int64_t{a.count}) : Value();
  }
  Value operator()(const TypeText& a) const {
    return fact == Fact::chars ? Value(characters(a.text)) : Value();
  }
  Value operator()(const PressKey& a) const {
    return fact == Fact::keys ? Value(std::string_view(a.keys)) : Value();
  }
  Value operator()(const Extend& a) const {
    return fact == Fact::by ? Value(std::int64_t{a.by.count()}) : Value();
  }
  Value operator()(const Destroy& a) const {
    return fact == Fact::cause ? Value(spelling(a.cause)) : Value();
  }
  Value operator()(const Fetch& a) const {
    if (fact == Fact::method) return std::string_view(a.method);
    if (fact == Fact::scheme) return spelling(a.target.scheme);
    if (fact == Fact::port) return std::int64_t{a.target.port};
    if (fact == Fact::path) return a.target.path_fault ? Value() : Value(&a.target.segments);
    if (fact == Fact::url) return std::string_view(a.url);
    if (fact == Fact::tls) return kTls[a.target.scheme == Scheme::http ? 0 : 1];
    return reached(a);
  }
  // What is asked inside of a tunnel that is looked into will be asked again; inside of another it is never
  // known.
  Value operator()(const Tunnel& a) const {
    const bool inspected = a.sight == Tunnel::Sight::inspected;
    if (fact == Fact::method || fact == Fact::path || fact == Fact::url)
      return inspected ? Value(Later{}) : Value();
    if (fact == Fact::scheme) return spelling(Scheme::https);
    if (fact == Fact::port) return std::int64_t{a.port};
    if (fact == Fact::tls) return kTls[inspected ? 1 : 2];
    return reached(a);
  }
  template <class Web>
  Value reached(const Web& a) const {
    if (fact == Fact::host) return &a.labels;
    if (fact != Fact::address) return {};
    return a.addresses.empty() ? Value(Later{}) : Value(&a.addresses);
  }
  Value operator()(const BuildImage& a) const { return named(a.name); }
  Value operator()(const RemoveImage& a) const { return named(a.name); }
  template <class Other>
  Value operator()(const Other&) const {
    return {};
  }

  template <class Copy>
  Value paths(const Copy& a) const {
    if (fact == Fact::host_path) return &a.host_path;
    return fact == Fact::guest_path ? Value(&a.guest_path) : Value();
  }
  template <class Copy>
  Value copied(const Copy& a) const {
    if (fact == Fact::bytes) return saturated(a.survey.bytes);
    return fact == Fact::files ? Value(saturated(a.survey.files)) : paths(a);
  }
  Value named(const std::string& name) const {
    return fact == Fact::name ? Value(std::string_view(name)) : Value();
  }
};

}  // namespace

std::span<const FactInfo> fact_table() { return kTable; }

const FactInfo& info_of(Fact fact) { return kTable[static_cast<std::size_t>(fact)]; }

const FactInfo* fact_named(std::string_view name) {
  const auto at =
      std::find_if(kTable.begin(), kTable.end(), [&](const FactInfo& info) { return info.name == name; });
  return at == kTable.end() ? nullptr : &*at;
}

std::span<const ActionWord> action_words() { return kWords; }

const ActionWord* action_word(std::string_view name) {
  const auto at =
      std::find_if(kWords.begin(), kWords.end(), [&](const ActionWord& word) { return word.name == name; });
  return at == kWords.end() ? nullptr : &*at;
}

const std::vector<std::string>* names_of(const Value& value) {
  if (const auto* path = std::get_if<const HostPath*>(&value)) return &(*path)->components();
  if (const auto* path = std::get_if<const GuestPath*>(&value)) return &(*path)->components();
  const auto* names = std::get_if<const Names*>(&value);
  return names == nullptr ? nullptr : *names;
}

ActionSet input_actions() { return set_of<Click, TypeText, PressKey>(); }

ActionSet web_actions() { return kWeb; }

ActionSet actions_in_sandboxes() { return kWithSandbox | set_of<Create>(); }

Value value_of(Fact fact, const Question& question) {
  if (question.withheld.test(static_cast<std::size_t>(fact))) return {};
  const auto& sandbox = question.request.sandbox;
  switch (fact) {
    case Fact::sandbox_network:
      return sandbox ? Value(spelling(sandbox->network)) : Value();
    case Fact::sandbox_age:
      return sandbox ? Value(std::int64_t{sandbox->age.count()}) : Value();
    case Fact::sandbox_labels:
      return sandbox ? Value(&sandbox->labels) : Value();
    case Fact::network:
    case Fact::command:
    case Fact::timeout:
    case Fact::host_path:
    case Fact::guest_path:
    case Fact::bytes:
    case Fact::files:
    case Fact::button:
    case Fact::count:
    case Fact::chars:
    case Fact::keys:
    case Fact::by:
    case Fact::cause:
    case Fact::name:
    case Fact::image:
    case Fact::cpus:
    case Fact::memory_mb:
    case Fact::disk_gb:
    case Fact::method:
    case Fact::scheme:
    case Fact::host:
    case Fact::port:
    case Fact::path:
    case Fact::url:
    case Fact::tls:
    case Fact::address:
      break;
  }
  return std::visit(Reader{fact}, question.request.what);
}

}  // namespace policy
