#include "audit/record.h"

#include <algorithm>
#include <array>
#include <bit>

#include "audit/text.h"
#include "policy/random.h"

namespace audit {
namespace {

// Budgets in bytes of canonical text; together they keep a line below kMaxLine.
constexpr std::size_t kObject = 96 * 1024;
constexpr std::size_t kDetails = 64 * 1024;
constexpr std::size_t kSentence = 4 * 1024;
constexpr std::size_t kName = 256;
constexpr std::size_t kList = 16 * 1024;  // items behind it are left out

// A short text of ours or of a client; always a JSON text.
void name(std::string_view text, std::string& out) { policy::canonical_string(front_of(text, kName), out); }

void name_member(std::string_view key, std::string_view text, std::string& out) {
  if (text.empty()) return;
  member(key, out);
  name(text, out);
}

// Members in front of which no comma may stand lose the one that member() wrote.
void open_object(std::string_view key, std::string& out) {
  member(key, out);
  out.push_back('{');
}

void close_object(std::size_t start, std::string& out) {
  const auto brace = out.find('{', start);
  if (brace + 1 < out.size() && out[brace + 1] == ',') out.erase(brace + 1, 1);
  out.push_back('}');
}

// A list of what `write` says of each item; nothing when there is none.
template <class Items, class Write>
void list_member(std::string_view key, const Items& items, std::string& out, Write write) {
  if (items.empty()) return;
  member(key, out);
  out.push_back('[');
  const std::size_t end = out.size() + kList;
  for (bool first = true; const auto& item : items) {
    if (out.size() >= end) break;
    if (!first) out.push_back(',');
    first = false;
    write(item);
  }
  out.push_back(']');
}

void rule_members(const policy::RuleRef& rule, std::string& out) {
  name_member("rule", rule.id, out);
  name_member("src", rule.where, out);
  name_member("tier", rule.tier, out);
}

// What would have been decided, and counted for nothing.
void shadows(const policy::Decision& d, std::string& out) {
  list_member("shadow", d.shadow, out, [&](const policy::ShadowRuling& says) {
    const std::size_t at = out.size();
    out += "{\"differs\":";
    out += says.differs ? "true" : "false";
    name_member("eff", policy::spelling(says.effect), out);
    rule_members(says.rule, out);
    close_object(at, out);
  });
  if (d.shadow_policy) {
    const std::size_t at = out.size();
    open_object("shadow_policy", out);
    name_member("eff", policy::spelling(d.shadow_policy->effect), out);
    name_member("pol", "sha256:" + d.shadow_policy->policy.hex(), out);
    rule_members(d.shadow_policy->rule, out);
    close_object(at, out);
  }
}

void decision(const policy::Decision& d, CleanWriter& writer, std::string& out) {
  const std::size_t start = out.size();
  open_object("dec", out);
  list_member("all", d.matched, out, [&](const policy::RuleRef& rule) {
    const std::size_t at = out.size();
    out.push_back('{');
    rule_members(rule, out);
    close_object(at, out);
  });
  if (d.approval) {
    const std::size_t approval = out.size();
    open_object("appr", out);
    name_member("by", d.approval->by.text, out);
    name_member("id", d.approval->id, out);
    name_member("via", policy::spelling(d.approval->channel), out);
    close_object(approval, out);
  }
  name_member("code", d.code, out);
  name_member("eff", policy::spelling(d.effect), out);
  if (!d.hint.empty()) {
    member("hint", out);
    writer.value(policy::Json(d.hint), kSentence);
  }
  list_member("inject", d.injections, out, [&](const policy::Injection& one) { name(one.secret.id, out); });
  list_member("labels", d.labels, out, [&](const auto& label) { name(label.first, out); });
  member("pol", out);
  policy::canonical_string("sha256:" + d.policy.hex(), out);
  name_member("rule", d.rule.id, out);
  shadows(d, out);
  name_member("src", d.rule.where, out);
  name_member("tier", d.rule.tier, out);
  list_member("unknown", d.unknown, out, [&](const std::string& fact) { name(fact, out); });
  member("us", out);
  integer(d.micros, out);
  list_member("waivers", d.waivers, out, [&](const policy::RuleRef& waiver) { name(waiver.id, out); });
  if (!d.reason.empty()) {
    member("why", out);
    writer.value(policy::Json(d.reason), kSentence);
  }
  close_object(start, out);
}

void subject(const policy::Subject& who, CleanWriter& writer, std::string& out) {
  const std::size_t start = out.size();
  open_object("sub", out);
  if (!who.client_name.empty() || !who.client_version.empty()) {
    const std::size_t client = out.size();
    open_object("client", out);
    for (const auto& [key, text] :
         {std::pair{"name", &who.client_name}, std::pair{"version", &who.client_version}}) {
      if (text->empty()) continue;
      member(key, out);
      writer.value(policy::Json(*text), kName);
    }
    close_object(client, out);
  }
  name_member("id", who.principal.text, out);
  name_member("kind", policy::spelling(who.transport), out);
  if (who.pid) {
    member("pid", out);
    integer(std::int64_t{*who.pid}, out);
  }
  if (who.uid) {
    member("uid", out);
    integer(std::uint64_t{*who.uid}, out);
  }
  name_member("user", who.os_user, out);
  close_object(start, out);
}

void redactions(const CleanWriter& writer, std::string& out) {
  if (writer.redactions() == 0) return;
  member("red", out);
  integer(std::int64_t{writer.redactions()}, out);
}

const policy::SandboxId* sandbox_in(const policy::Request& request) {
  if (request.sandbox) return &request.sandbox->id;
  return policy::sandbox_of(request.what);
}

void two(unsigned value, char* at) {
  at[0] = static_cast<char>('0' + value / 10);
  at[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::string_view act_of(const policy::Action& action) {
  struct Names {
    std::string_view operator()(const policy::Create&) const { return "sandbox.create"; }
    std::string_view operator()(const policy::List&) const { return "sandbox.list"; }
    std::string_view operator()(const policy::Run&) const { return "sandbox.run"; }
    std::string_view operator()(const policy::Start&) const { return "sandbox.start"; }
    std::string_view operator()(const policy::Check&) const { return "sandbox.check"; }
    std::string_view operator()(const policy::Stop&) const { return "sandbox.stop"; }
    std::string_view operator()(const policy::CopyIn&) const { return "copy.in"; }
    std::string_view operator()(const policy::FetchOut&) const { return "copy.fetch"; }
    std::string_view operator()(const policy::PublishOut&) const { return "copy.publish"; }
    std::string_view operator()(const policy::Screenshot&) const { return "screen.shot"; }
    std::string_view operator()(const policy::Click&) const { return "input.click"; }
    std::string_view operator()(const policy::TypeText&) const { return "input.type"; }
    std::string_view operator()(const policy::PressKey&) const { return "input.key"; }
    std::string_view operator()(const policy::Fetch&) const { return "web.fetch"; }
    std::string_view operator()(const policy::Tunnel&) const { return "web.tunnel"; }
    std::string_view operator()(const policy::Extend&) const { return "sandbox.extend"; }
    std::string_view operator()(const policy::Destroy&) const { return "sandbox.destroy"; }
    std::string_view operator()(const policy::Approve&) const { return "approval.answer"; }
    std::string_view operator()(const policy::KillSwitch&) const { return "gateway.kill_switch"; }
    std::string_view operator()(const policy::BuildImage&) const { return "image.build"; }
    std::string_view operator()(const policy::RemoveImage&) const { return "image.remove"; }
    std::string_view operator()(const policy::Vmrun&) const { return "vmrun.exec"; }
  };
  return std::visit(Names{}, action);
}

bool is_act(std::string_view act) {
  bool dotted = false;
  char last = '.';
  for (const char c : act) {
    const bool letter = (c >= 'a' && c <= 'z') || (last != '.' && (c == '_' || (c >= '0' && c <= '9')));
    if (!letter && (c != '.' || last == '.')) return false;
    dotted = dotted || c == '.';
    last = c;
  }
  return act.size() <= 48 && dotted && last != '.';
}

Draft draft(const policy::Decision& d, policy::Durability durability, const Redactor& redactor) {
  Draft out;
  out.head.reserve(768);
  out.middle.reserve(512);
  out.tail.reserve(256);
  const auto& request = d.request;
  CleanWriter head(redactor, out.head), middle(redactor, out.middle), tail(redactor, out.tail);
  out.level = d.effect == policy::Effect::allow ? "info"
              : d.effect == policy::Effect::ask ? "notice"
                                                : "warn";
  name_member("act", act_of(request.what), out.head);
  name_member("call", request.id.call.text(), out.head);
  decision(d, head, out.head);
  name_member("dur", durability == policy::Durability::durable ? "durable" : "ordered", out.head);

  member("obj", out.middle);
  middle.value(policy::describe(request.what, redactor.text_key()), kObject);
  if (request.id.parent) {
    member("par", out.middle);
    integer(*request.id.parent, out.middle);
  }
  name_member("ph", "req", out.middle);

  if (request.who.session) name_member("ses", request.who.session->text(), out.tail);
  subject(request.who, tail, out.tail);

  const int found = head.redactions() + middle.redactions() + tail.redactions();
  if (found > 0) {
    member("red", out.middle);
    integer(std::int64_t{found}, out.middle);
  }
  name_member("req", request.id.request, out.middle);
  if (const auto* sandbox = sandbox_in(request)) name_member("sbx", sandbox->text(), out.middle);
  return out;
}

Draft draft(const policy::Receipt& closed, const policy::Request& request, const policy::Outcome& outcome,
            const Redactor& redactor) {
  Draft out;
  out.level = outcome.ok ? "info" : "notice";
  name_member("act", act_of(request.what), out.head);
  name_member("call", request.id.call.text(), out.head);
  name_member("dur", "ordered", out.head);

  std::string res;
  CleanWriter writer(redactor, res);
  open_object("res", res);
  if (outcome.bytes_in) {
    member("bytes_in", res);
    integer(*outcome.bytes_in, res);
  }
  if (outcome.bytes_out) {
    member("bytes_out", res);
    integer(*outcome.bytes_out, res);
  }
  name_member("code", outcome.code, res);
  if (outcome.duration_us) {
    member("dur_us", res);
    integer(*outcome.duration_us, res);
  }
  if (outcome.exit) {
    member("exit", res);
    integer(std::int64_t{*outcome.exit}, res);
  }
  if (outcome.details != policy::Json()) {
    member("more", res);
    writer.value(outcome.details, kDetails);
  }
  member("ok", res);
  res += outcome.ok ? "true" : "false";
  close_object(0, res);

  if (request.id.parent) {
    member("par", out.middle);
    integer(*request.id.parent, out.middle);
  }
  name_member("ph", "res", out.middle);
  redactions(writer, out.middle);
  member("ref", out.middle);
  integer(closed.seq, out.middle);
  name_member("req", request.id.request, out.middle);
  out.middle += res;
  if (const auto* sandbox = sandbox_in(request)) name_member("sbx", sandbox->text(), out.middle);

  if (request.who.session) name_member("ses", request.who.session->text(), out.tail);
  const std::size_t start = out.tail.size();
  open_object("sub", out.tail);
  name_member("id", request.who.principal.text, out.tail);
  name_member("kind", policy::spelling(request.who.transport), out.tail);
  close_object(start, out.tail);
  return out;
}

Draft draft(const policy::Event& event, const Redactor& redactor) {
  Draft out;
  CleanWriter middle(redactor, out.middle), tail(redactor, out.tail);
  out.level = event.level;
  name_member("act", event.act, out.head);
  name_member("dur", "ordered", out.head);
  if (event.object != policy::Json()) {
    member("obj", out.middle);
    middle.value(event.object, kObject);
  }
  name_member("ph", "evt", out.middle);
  if (event.who && event.who->session) name_member("ses", event.who->session->text(), out.tail);
  subject(event.who ? *event.who : policy::system_subject(), tail, out.tail);
  const int found = middle.redactions() + tail.redactions();
  if (found > 0) {
    member("red", out.middle);
    integer(std::int64_t{found}, out.middle);
  }
  if (event.sandbox) name_member("sbx", event.sandbox->text(), out.middle);
  return out;
}

Draft draft_lost(std::uint64_t decision, std::string_view act, std::string_view call) {
  Draft out;
  out.level = "warn";
  name_member("act", act, out.head);
  name_member("call", call, out.head);
  name_member("dur", "ordered", out.head);
  name_member("ph", "res", out.middle);
  member("ref", out.middle);
  integer(decision, out.middle);
  out.middle += R"(,"res":{"code":"lost","ok":false})";
  out.tail = R"(,"sub":{"id":"system","kind":"system"})";
  return out;
}

std::string compose(const Draft& draft, const Stamp& stamp, Hasher& hasher, std::string& line) {
  line.clear();
  line.append(kPrevStart).append(stamp.prev).append("\"").append(draft.head);
  line.append(R"(,"id":")").append(stamp.id).append(R"(","log":")").append(stamp.log);
  line.append(R"(","lvl":")").append(draft.level).append(R"(","mono":)");
  integer(std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(stamp.since_boot).count()},
          line);
  line.append(draft.middle).append(R"(,"seq":)");
  integer(stamp.seq, line);
  line.append(draft.tail).append(R"(,"ts":")").append(timestamp(stamp.wall)).append(R"(","v":1)");
  auto hash = hasher.hex_closed(line);
  line.append(kHashStart).append(hash).append("\"}\n");
  return hash;
}

std::string timestamp(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const auto in_day = time - day;
  const auto seconds_in_day = static_cast<unsigned>(floor<seconds>(in_day).count());
  auto nanos = static_cast<std::uint64_t>((in_day - floor<seconds>(in_day)).count());
  std::string out = "0000-00-00T00:00:00.000000000Z";
  const auto year = static_cast<unsigned>(std::clamp(static_cast<int>(date.year()), 0, 9999));
  two(year / 100, &out[0]);
  two(year % 100, &out[2]);
  two(static_cast<unsigned>(date.month()), &out[5]);
  two(static_cast<unsigned>(date.day()), &out[8]);
  two(seconds_in_day / 3600, &out[11]);
  two(seconds_in_day / 60 % 60, &out[14]);
  two(seconds_in_day % 60, &out[17]);
  for (std::size_t i = 28; i >= 20; --i) {
    out[i] = static_cast<char>('0' + nanos % 10);
    nanos /= 10;
  }
  return out;
}

std::string uuid_v7(std::chrono::sys_time<std::chrono::nanoseconds> time, std::uint64_t seq) {
  static constexpr char digits[] = "0123456789abcdef";
  const auto millis = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
  std::array<std::uint8_t, 8> random{};
  policy::random_bytes(random);
  std::uint64_t low = std::bit_cast<std::uint64_t>(random);
  const std::uint64_t high = millis << 16 | 0x7000 | (seq & 0xFFF);
  low = (low & 0x3FFFFFFFFFFFFFFF) | 0x8000000000000000;
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out.push_back('-');
    const std::uint64_t half = i < 16 ? high : low;
    out.push_back(digits[half >> (60 - 4 * (i % 16)) & 15]);
  }
  return out;
}

}  // namespace audit
