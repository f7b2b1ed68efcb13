// The sections `web:` and `input:`: what their rules let through, and what is refused when they are read.
#include "policy/compile_web.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/builtin.h"
#include "policy/compile.h"
#include "policy/web_pattern.h"
#include "tests/policy/mistakes.h"
#include "tests/policy/questions.h"

namespace policy {
namespace {

using namespace mistakes;
using namespace questions;

// A policy whose own tests say what it means. `body` is what follows the head, `tests` items of its `tests:`.
struct Meaning {
  const char* name;
  const char* body;
  std::vector<const char*> tests;
};
class WebRule : public testing::TestWithParam<Meaning> {};

TEST_P(WebRule, MeansWhatItsTestsSay) {
  std::string text = std::string(GetParam().body) + "tests:\n";
  for (const auto* test : GetParam().tests) text += "  - { " + std::string(test) + " }\n";
  const auto result = compiled(text);
  for (const auto& found : result.diagnostics) ADD_FAILURE() << found.format();
  EXPECT_NE(result.program, nullptr);
}

constexpr auto kPackages =
    "web:\n  packages: { allow: [GET, HEAD], hosts: [packages.example.net, \"*.mirror.example.org\"], ports: "
    "443, tls: inspect }\n";

INSTANTIATE_TEST_SUITE_P(
    Table, WebRule,
    testing::Values(
        Meaning{
            "methods_hosts_and_ports",
            kPackages,
            {
                "call: fetch, url: \"https://packages.example.net/a\", expect: allow packages",
                "call: fetch, url: \"https://PACKAGES.example.net./a\", expect: allow packages",
                "call: fetch, method: HEAD, url: \"https://packages.example.net\", expect: allow packages",
                "call: fetch, method: POST, url: \"https://packages.example.net/a\", expect: deny default",
                "call: fetch, method: get, url: \"https://packages.example.net/a\", expect: deny default",
                "call: fetch, url: \"http://packages.example.net/a\", expect: deny default",
                "call: fetch, url: \"https://packages.example.net:8443/a\", expect: deny default",
                "call: fetch, url: \"https://a.mirror.example.org/\", expect: allow packages",
                "call: fetch, url: \"https://a.b.mirror.example.org/\", expect: allow packages",
                "call: fetch, url: \"https://mirror.example.org/\", expect: deny default",
                "call: fetch, url: \"https://xmirror.example.org/\", expect: deny default",
                "call: fetch, url: \"https://packages.example.net.evil-example.com/\", expect: deny default",
                "call: tunnel, host: packages.example.net, expect: deny default",
                "call: fetch, host: unknown, expect: deny default",
                "call: fetch, host: packages.example.net, method: unknown, expect: deny default",
            }},
        Meaning{"any_method_passes_tunnels_through",
                "web:\n  all: { allow: any, hosts: example.org }\n",
                {
                    "call: fetch, url: \"https://example.org/\", expect: allow all",
                    "call: fetch, method: DELETE, url: \"http://example.org/\", expect: allow all",
                    "call: tunnel, host: example.org, expect: allow all",
                    "call: tunnel, host: example.org, port: 22, expect: deny default",
                    "call: fetch, url: \"https://example.org:444/\", expect: deny default",
                }},
        Meaning{
            "a_path_is_judged_where_it_is_seen",
            "web:\n  own: { allow: GET, hosts: code.example.com, paths: [\"/repos/acme/**\", /health, /], "
            "tls: "
            "inspect }\n",
            {
                "call: fetch, url: \"https://code.example.com/repos/acme/x\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/repos/acme/x/y?z=/../..\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/repos/%61cme/x\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/repos/acme/\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/repos/acme\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/health\", expect: allow own",
                "call: fetch, url: \"https://code.example.com\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/?q\", expect: allow own",
                "call: fetch, url: \"https://code.example.com/health/x\", expect: deny default",
                "call: fetch, url: \"https://code.example.com/repos/acmex/y\", expect: deny default",
                "call: fetch, url: \"https://code.example.com/repos/acme/..%2f..%2fadmin\", expect: deny "
                "default",
                "call: fetch, url: \"https://code.example.com/repos/acme/../../admin\", expect: deny "
                "default",
                "call: fetch, url: \"https://code.example.com/repos//acme/x\", expect: deny default",
            }},
        Meaning{"who_asks_inside_of_https_opens_it",
                "web:\n  a: { ask: POST, hosts: x.org, tls: inspect, unless: { paths: /ping } }\n"
                "  no: { deny: any, hosts: x.org, paths: /admin }\n"
                "  b: { ask: POST, hosts: y.org, tls: inspect, for: nobody }\n"
                "subjects: { nobody: { os_user: nobody } }\n",
                {
                    "call: fetch, method: POST, url: \"https://x.org/\", expect: ask a",
                    "call: fetch, method: POST, url: \"https://x.org/ping\", expect: deny default",
                    "call: fetch, method: POST, url: \"https://x.org/admin\", expect: deny no",
                    "call: fetch, method: GET, url: \"https://x.org/\", expect: deny default",
                    "call: fetch, method: unknown, url: \"https://x.org/\", expect: deny default",
                    "call: fetch, method: POST, url: \"http://x.org/\", expect: deny default",
                    "call: fetch, method: POST, url: \"https://z.org/\", expect: deny default",
                    "call: fetch, method: POST, url: \"https://y.org/\", expect: deny default",
                    "call: fetch, method: POST, url: \"https://y.org/\", as: nobody, expect: ask b",
                    "call: tunnel, host: x.org, expect: deny no",
                }},
        Meaning{"who_asks_by_what_unless_tells_later",
                "web:\n  h: { ask: any, hosts: a.org, tls: inspect, unless: { paths: /health } }\n",
                {
                    "call: fetch, url: \"https://a.org/x\", expect: ask h",
                    "call: fetch, url: \"https://a.org/health\", expect: deny default",
                }},
        Meaning{"what_is_looked_into_is_not_passed_through",
                "web:\n  gate: { ask: any, hosts: a.org, paths: \"/admin/**\", tls: inspect }\n"
                "  get: { allow: GET, hosts: b.org, tls: inspect }\n"
                "  pass: { allow: any, hosts: [a.org, b.org, c.org], tls: passthrough }\n",
                {
                    "call: fetch, url: \"https://a.org/admin/x\", expect: ask gate",
                    "call: fetch, url: \"https://a.org/other\", expect: deny default",
                    "call: fetch, url: \"https://b.org/\", expect: allow get",
                    "call: fetch, method: POST, url: \"https://b.org/\", expect: deny default",
                    "call: fetch, url: \"https://c.org/\", expect: allow pass",
                }},
        Meaning{"who_asks_by_address_is_asked_where_none_is_told",
                "web:\n  k: { ask: any, cidrs: 8.8.8.0/24, tls: [none, passthrough] }\n",
                {
                    "call: fetch, url: \"http://a.org/\", expect: ask k",
                    "call: fetch, url: \"http://a.org/\", address: 8.8.8.8, expect: ask k",
                    "call: fetch, url: \"http://a.org/\", address: 198.41.0.4, expect: deny default",
                    "call: tunnel, host: a.org, expect: ask k",
                }},
        Meaning{
            "a_waiver_that_may_not_hold_keeps_nobody_from_being_asked",
            "actions:\n  out: { ask: copy_out, host_path: \"transfer:**\", bytes: { min: 1MiB } }\n"
            "  in: { allow: copy_out, host_path: \"transfer:free/**\" }\n"
            "waivers:\n  w: { lift: out, bytes: { max: 2MiB }, until: 2099-01-01, reason: x }\n",
            {
                "call: copy_out, host_path: a, guest_path: /a, bytes: 5MiB, at: 2027-01-01, expect: ask out",
                "call: copy_out, host_path: a, guest_path: /a, bytes: 1MiB, at: 2027-01-01, expect: deny "
                "default",
                "call: copy_out, host_path: a, guest_path: /a, bytes: 5MiB, at: 2099-01-02, expect: ask out",
                "call: copy_out, host_path: free/a, guest_path: /a, bytes: 1MiB, at: 2027-01-01, expect: "
                "allow in",
            }},
        Meaning{"who_asks_by_size_lets_a_copy_be_looked_at",
                "actions:\n  big: { ask: copy_out, host_path: \"transfer:out/**\", bytes: { min: 1MiB } }\n",
                {
                    "call: copy_out, host_path: out/a, guest_path: /a, bytes: 2MiB, expect: ask big",
                    "call: copy_out, host_path: out/a, guest_path: /a, bytes: 1KiB, expect: deny default",
                    "call: copy_out, host_path: other/a, guest_path: /a, bytes: 2MiB, expect: deny default",
                }},
        Meaning{"a_refused_path_is_refused_in_every_spelling",
                "web:\n  all: { allow: any, hosts: any, tls: inspect, ports: [80, 443] }\n"
                "  admin: { deny: any, paths: \"/admin/**\" }\n",
                {
                    "call: fetch, url: \"http://example.org/a\", expect: deny default",
                    "call: fetch, url: \"https://example.org/a\", expect: allow all",
                    "call: fetch, url: \"https://example.org/admin/x\", expect: deny admin",
                    "call: fetch, url: \"https://example.org/%61dmin/x\", expect: deny admin",
                    "call: fetch, url: \"https://example.org/admin\", expect: deny admin",
                    "call: fetch, url: \"https://example.org/admin/\", expect: deny admin",
                    "call: fetch, url: \"https://example.org/./admin/x\", expect: deny admin",
                    "call: fetch, url: \"https://example.org//admin/x\", expect: deny admin",
                }},
        Meaning{"what_is_not_public_is_refused_before_any_rule",
                "web:\n  all: { allow: any, hosts: any }\n",
                {
                    "call: fetch, url: \"http://127.0.0.1/\", expect: deny builtin:web-address",
                    "call: fetch, url: \"http://[::ffff:10.0.0.1]/\", expect: deny builtin:web-address",
                    "call: fetch, url: \"http://169.254.169.254/latest/\", expect: deny "
                    "builtin:web-address",
                    "call: fetch, url: \"http://localhost/\", expect: deny builtin:web-name",
                    "call: fetch, url: \"http://printer/\", expect: deny builtin:web-name",
                    "call: fetch, url: \"http://example.org/\", address: 10.1.2.3, expect: deny "
                    "builtin:web-address",
                    "call: fetch, url: \"http://example.org/\", address: [198.41.0.4, \"::1\"], expect: deny "
                    "builtin:web-address",
                    "call: fetch, url: \"http://example.org/\", address: 198.41.0.4, expect: allow all",
                }},
        Meaning{"addresses_that_refuse_and_that_allow",
                "sets: { corp: { cidrs: [198.41.0.0/24, \"2001:503::/32\"] } }\n"
                "web:\n  all: { allow: any, hosts: any }\n"
                "  own: { allow: any, address: 192.0.33.0/24, ports: 8080 }\n"
                "  no-corp: { deny: any, cidrs: $corp }\n",
                {
                    "call: fetch, url: \"http://example.org/\", address: 198.41.0.4, expect: deny no-corp",
                    "call: fetch, url: \"http://example.org/\", address: [192.0.33.8, 198.41.0.4], expect: "
                    "deny no-corp",
                    "call: fetch, url: \"http://example.org/\", address: \"2001:503::1\", expect: deny "
                    "no-corp",
                    "call: fetch, url: \"http://example.org/\", address: unknown, expect: deny no-corp",
                    "call: fetch, url: \"http://example.org/\", expect: allow all",
                    "call: fetch, url: \"http://example.org:8080/\", address: 192.0.33.8, expect: allow own",
                    "call: fetch, url: \"http://example.org:8080/\", address: [192.0.33.8, 192.0.34.1], "
                    "expect: deny default",
                }},
        Meaning{"addresses_inside_of_addresses",
                "web:\n  a: { allow: any, hosts: any }\n  d: { deny: any, cidrs: [198.41.0.0/24, "
                "\"::ffff:198.42.0.0/112\"] }\n  h: { deny: any, hosts: 8.8.8.8 }\n",
                {
                    "call: fetch, url: \"http://a.org/\", address: \"::ffff:198.41.0.7\", expect: deny d",
                    "call: fetch, url: \"http://a.org/\", address: \"64:ff9b::c629:7\", expect: deny d",
                    "call: fetch, url: \"http://a.org/\", address: 198.42.0.7, expect: deny d",
                    "call: fetch, url: \"http://[64:ff9b::808:808]/\", expect: deny h",
                    "call: fetch, url: \"http://198.41.0.7/\", expect: deny d",
                    "call: fetch, url: \"http://[::ffff:198.41.0.7]/\", expect: deny d",
                    "call: fetch, url: \"http://198.41.0.7/\", address: 9.9.9.9, expect: deny d",
                    "call: tunnel, host: 198.41.0.7, expect: deny d",
                    "call: fetch, url: \"http://9.9.9.9/\", expect: allow a",
                }},
        Meaning{"an_allowed_block_holds_literal_addresses",
                "web:\n  a: { allow: any, cidrs: 198.41.0.0/24 }\n",
                {
                    "call: fetch, url: \"http://198.41.0.7/\", expect: allow a",
                    "call: fetch, url: \"http://9.9.9.9/\", expect: deny default",
                    "call: fetch, url: \"http://198.41.0.7/\", address: 9.9.9.9, expect: deny default",
                    "call: fetch, url: \"http://a.org/\", address: \"64:ff9b::c629:7\", expect: allow a",
                }},
        Meaning{"a_target_in_parts_is_the_same_target",
                "web:\n  api: { allow: GET, hosts: x.example.com, paths: [\"/v1/**\"], tls: inspect }\n"
                "  no: { deny: any, hosts: y.example.com, paths: [\"/admin/**\"] }\n"
                "  y: { allow: any, hosts: y.example.com, tls: inspect }\n",
                {
                    "call: fetch, host: x.example.com, path: /v1/a, expect: allow api",
                    "call: fetch, host: x.example.com, path: /v2/a, expect: deny default",
                    "call: fetch, host: x.example.com, path: unknown, expect: deny default",
                    "call: fetch, host: y.example.com, path: /admin/x, expect: deny no",
                    "call: fetch, host: y.example.com, path: /a/../admin, expect: deny no",
                    "call: fetch, host: y.example.com, path: unknown, expect: deny no",
                    "call: fetch, host: y.example.com, path: /b, expect: allow y",
                    "call: fetch, url: unknown, expect: deny no",
                }},
        Meaning{"a_scheme_that_is_not_known_is_no_way_around",
                "web:\n  a: { allow: any, hosts: any }\n  d: { deny: any, tls: [inspect, passthrough] }\n",
                {
                    "call: fetch, host: a.org, scheme: http, expect: allow a",
                    "call: fetch, host: a.org, scheme: https, expect: deny d",
                    "call: fetch, host: a.org, scheme: unknown, expect: deny d",
                }},
        Meaning{"what_is_refused_in_the_end_is_not_asked",
                "web:\n  a: { ask: any, hosts: a.org, tls: inspect }\n  d: { deny: POST }\n",
                {
                    "call: fetch, url: \"https://a.org/\", expect: ask a",
                    "call: fetch, url: \"https://a.org/\", method: POST, expect: deny d",
                }},
        Meaning{"ports_that_are_left_out",
                "web:\n  a: { ask: any, hosts: a.org, not: { ports: 443 } }\n",
                {
                    "call: fetch, url: \"http://a.org:8443/\", expect: ask a",
                    "call: fetch, url: \"http://a.org/\", expect: ask a",
                    "call: fetch, url: \"http://a.org:443/\", expect: deny default",
                }},
        Meaning{"literal_addresses",
                "web:\n  a: { allow: any, hosts: [198.41.0.4, \"[2001:503::1]\"] }\n",
                {
                    "call: fetch, url: \"http://198.41.0.4/\", expect: allow a",
                    "call: fetch, url: \"http://[2001:503:0::1]/\", expect: allow a",
                    "call: fetch, url: \"http://198.41.0.5/\", expect: deny default",
                }},
        Meaning{"shapes_of_secrets_in_a_url",
                "sets: { shapes: { re2: [\"AKIA[0-9A-Z]{16}\", \"ghp_[A-Za-z0-9]{36}\"] } }\n"
                "web:\n  all: { allow: any, hosts: any, tls: inspect }\n"
                "  no-keys: { deny: any, url: { re2_search: $shapes }, why: looks like a credential }\n"
                "  bad: { deny: any, url: \"https://example.org/bad\" }\n"
                "  odd: { deny: any, url: { glob: \"http://*:443/*\" } }\n",
                {
                    "call: fetch, url: \"https://example.org/?k=AKIAABCDEFGHIJKLMNOP\", expect: deny no-keys",
                    "call: fetch, url: \"https://example.org/?k=AKIAabcd\", expect: allow all",
                    "call: fetch, url: \"https://example.org:443/bad\", expect: deny bad",
                    "call: fetch, url: \"https://example.org/bad?x\", expect: allow all",
                    "call: fetch, url: \"http://example.org:443/bad\", expect: deny odd",
                    "call: fetch, url: \"https://AKIAABCDEFGHIJKLMNOP.example.org/\", expect: allow all",
                }},
        Meaning{"a_whole_expression",
                "actions:\n  use: { allow: run, timeout: { max: 1h } }\n"
                "  only: { deny: run, command: { not: { equals: [ls, pwd] } } }\n"
                "  ask: { ask: image_build, name: { re2: \"test-[0-9]+\" } }\n",
                {
                    "call: run, command: ls, expect: allow use",
                    "call: run, command: ls -l, expect: deny only",
                    "call: image_build, name: test-12, expect: ask ask",
                    "call: image_build, name: a-test-12, expect: deny default",
                    "call: image_build, name: test-12x, expect: deny default",
                }},
        Meaning{"input_stands_in_a_section_of_its_own",
                "input:\n  gui: { allow: any }\n"
                "  no-switch: { deny: key, keys: { glob: \"ctrl+alt+*\" } }\n"
                "  long: { ask: type, chars: { min: 1000 } }\n",
                {
                    "call: click, expect: allow gui",
                    "call: key, keys: ctrl+c, expect: allow gui",
                    "call: key, keys: ctrl+alt+f2, expect: deny no-switch",
                    "call: type, chars: 2000, expect: ask long",
                    "call: run, command: ls, expect: deny default",
                }},
        Meaning{"web_rules_know_who_asks_and_the_sandbox",
                "subjects: { ci: { transport: http, token: { issuer: \"https://ci.example\", subject: "
                "\"repo:acme/*\" } }, alice: { os_user: alice } }\n"
                "web:\n  out: { allow: any, hosts: example.org, for: ci, sandbox: { labels: fresh } }\n"
                "  quiet: { deny: any, for: alice, sandbox: { network: none } }\n",
                {
                    "call: fetch, url: \"http://example.org/\", as: ci, sandbox: { labels: [fresh], network: "
                    "web }, expect: allow out",
                    "call: fetch, url: \"http://example.org/\", as: ci, expect: deny default",
                    "call: fetch, url: \"http://example.org/\", as: alice, expect: deny quiet",
                    "call: fetch, url: \"http://example.org/\", expect: deny",
                }}),
    [](const auto& tested) { return std::string(tested.param.name); });

class WebMistake : public testing::TestWithParam<Mistake> {};

TEST_P(WebMistake, IsToldAtItsPlace) { expect_told(GetParam()); }

// Statement 7 of the policy reference: a rule over what its request does not show is refused when it is read.
INSTANTIATE_TEST_SUITE_P(
    Statement7, WebMistake,
    testing::Values(Mistake{"methods_of_a_tunnel",
                            "web:\n  a: { allow: GET, hosts: example.org }\n",
                            "P0163",
                            {6, 8},
                            "add `tls: inspect`"},
                    Mistake{"a_slip_is_not_every_host",
                            "web:\n  r: { allow: [GET], hots: example.org, tls: inspect }\n",
                            "P0107",
                            {6, 22},
                            "did you mean `host`?"},
                    Mistake{"methods_passed_through",
                            "web:\n  a: { allow: GET, hosts: example.org, tls: passthrough }\n",
                            "P0163",
                            {6, 40},
                            "cannot be judged in https that is passed through"},
                    Mistake{"paths_of_a_tunnel",
                            "web:\n  a: { ask: any, hosts: example.org, paths: /a }\n",
                            "P0163",
                            {6, 8},
                            "could not be enforced"},
                    Mistake{
                        "methods_within_a_group",
                        "web:\n  a: { allow: any, hosts: any, any: [ { method: GET } ], tls: passthrough }\n",
                        "P0163",
                        {6, 58},
                        "could not be enforced"},
                    Mistake{"paths_within_a_group",
                            "web:\n  a: { allow: any, hosts: any, all: [ { path: /a } ] }\n",
                            "P0163",
                            {6, 8},
                            "could not be enforced"},
                    Mistake{"paths_that_are_excepted",
                            "web:\n  a: { allow: any, hosts: any, unless: { path: /a } }\n",
                            "P0163",
                            {6, 8},
                            "could not be enforced"},
                    Mistake{"urls_of_a_tunnel",
                            "web:\n  a: { allow: any, hosts: example.org, url: { glob: \"*\" } }\n",
                            "P0163",
                            {6, 8},
                            "could not be enforced"}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Table, WebMistake,
    testing::Values(
        Mistake{
            "method_in_small_letters", "web:\n  a: { deny: get }\n", "P0161", {6, 14}, "did you mean `GET`?"},
        Mistake{"methods_in_small_letters",
                "web:\n  a: { deny: any, methods: post }\n",
                "P0161",
                {6, 28},
                "in capitals"},
        Mistake{"connect_among_methods",
                "web:\n  a: { deny: any, methods: [GET, CONNECT] }\n",
                "P0161",
                {6, 28},
                "in capitals"},
        Mistake{"connect", "web:\n  a: { deny: CONNECT }\n", "P0161", {6, 14}, "`CONNECT` is not named"},
        Mistake{"any_and_another", "web:\n  a: { deny: [any, GET] }\n", "P0161", {6, 14}, "stands alone"},
        Mistake{"no_method", "web:\n  a: { deny: [] }\n", "P0121", {6, 14}, "is empty"},
        Mistake{"no_host", "web:\n  a: { allow: any }\n", "P0162", {6, 8}, "`hosts: any` if that is meant"},
        Mistake{"host_with_a_port",
                "web:\n  a: { deny: any, hosts: \"example.org:80\" }\n",
                "P0122",
                {6, 26},
                "ports stand under `port`"},
        Mistake{"host_with_a_scheme",
                "web:\n  a: { deny: any, hosts: \"https://example.org\" }\n",
                "P0122",
                {6, 26},
                "is no host"},
        Mistake{"host_pattern_inside",
                "web:\n  a: { deny: any, hosts: \"a.*.org\" }\n",
                "P0122",
                {6, 26},
                "`*.` and a name"},
        Mistake{"host_in_octal",
                "web:\n  a: { deny: any, hosts: \"0177.0.0.1\" }\n",
                "P0122",
                {6, 26},
                "is no host"},
        Mistake{"below_an_address",
                "web:\n  a: { deny: any, hosts: \"*.10.0.0.1\" }\n",
                "P0122",
                {6, 26},
                "nothing lies below"},
        Mistake{"block_with_host_bits",
                "web:\n  a: { deny: any, cidrs: 10.1.2.3/8 }\n",
                "P0122",
                {6, 26},
                "10.0.0.0/8"},
        Mistake{"path_without_a_slash",
                "web:\n  a: { deny: any, paths: admin }\n",
                "P0122",
                {6, 26},
                "begins with `/`"},
        Mistake{"host_with_a_path",
                "web:\n  a: { deny: any, hosts: \"example.org/a\" }\n",
                "P0122",
                {6, 26},
                "paths under `paths`"},
        Mistake{"host_with_a_leading_dot",
                "web:\n  a: { deny: any, hosts: .example.org }\n",
                "P0122",
                {6, 26},
                "write `*.example.org`"},
        Mistake{"every_host_as_a_star",
                "web:\n  a: { deny: any, hosts: \"*\" }\n",
                "P0122",
                {6, 26},
                "write `any`"},
        Mistake{"port_zero", "web:\n  a: { deny: any, ports: 0 }\n", "S0105", {6, 26}, "`port`"},
        Mistake{
            "port_out_of_range", "web:\n  a: { deny: any, ports: [80, 65536] }\n", "S0105", {6, 31}, "65535"},
        Mistake{"path_with_a_query",
                "web:\n  a: { deny: any, paths: \"/a?b=1\" }\n",
                "P0122",
                {6, 26},
                "ask about that with `url`"},
        Mistake{"plain_http_that_is_looked_into",
                "web:\n  a: { allow: GET, hosts: example.org, scheme: http, tls: inspect }\n",
                "P0164",
                {6, 8},
                "can never match"},
        Mistake{"https_without_tls",
                "web:\n  a: { allow: any, hosts: example.org, scheme: https, tls: none }\n",
                "P0164",
                {6, 8},
                "can never match"},
        Mistake{
            "a_method_as_an_action", "actions:\n  a: { deny: GET }\n", "P0110", {6, 14}, "stand in `web`"},
        Mistake{"path_with_an_escape",
                "web:\n  a: { deny: any, paths: \"/a%2fb\" }\n",
                "P0122",
                {6, 26},
                "matched decoded"},
        Mistake{"no_expression",
                "web:\n  a: { deny: any, url: { re2_search: \"(\" } }\n",
                "P0122",
                {6, 38},
                "no regular expression"},
        Mistake{"an_expression_that_is_too_large",
                "web:\n  a: { deny: any, url: { re2_search: \"((a{1,30}){1,30}){1,30}\" } }\n",
                "P0122",
                {6, 38},
                "regular expression"},
        Mistake{"found_anywhere_cannot_allow",
                "web:\n  a: { allow: any, hosts: any, tls: inspect, url: { re2_search: a } }\n",
                "P0126",
                {6, 53},
                "can only deny or ask"},
        Mistake{"set_of_another_kind",
                "sets: { s: { paths: [a] } }\nweb:\n  a: { deny: any, hosts: $s }\n",
                "P0115",
                {7, 26},
                "holds paths, and hosts are asked for"},
        Mistake{"an_action_of_another_section",
                "input:\n  a: { deny: run }\n",
                "P0160",
                {6, 14},
                "is no action of `input`"},
        Mistake{"the_web_among_actions",
                "actions:\n  a: { deny: fetch }\n",
                "P0160",
                {6, 14},
                "its rules stand in `web`"},
        Mistake{"a_fact_of_the_web_among_actions",
                "actions:\n  a: { deny: run, hosts: any }\n",
                "P0114",
                {6, 19},
                "`run`"},
        Mistake{"a_label_on_what_refuses",
                "web:\n  a: { deny: any, label: x }\n",
                "P0129",
                {6, 19},
                "`label` marks a sandbox when something is let through"},
        Mistake{"a_label_without_a_sandbox",
                "actions:\n  a: { allow: list, label: x }\n",
                "P0114",
                {6, 21},
                "about no sandbox"},
        Mistake{"a_label_that_is_no_word",
                "actions:\n  a: { allow: run, label: \"a b\" }\n",
                "P0126",
                {6, 27},
                "a label is a word"},
        Mistake{"a_token_without_issuer",
                "subjects: { s: { token: { subject: a } } }\n",
                "P0108",
                {5, 25},
                "`issuer`"},
        Mistake{"an_id_in_two_sections",
                "actions:\n  a: { deny: run }\nweb:\n  a: { deny: any }\n",
                "P0105",
                {8, 3},
                "`a`"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(WebWarning, TellsOfHostsThatAreRefusedBeforeAnyRule) {
  for (const auto* host : {"localhost", "10.0.0.5", "\"[::1]\"", "printer", "\"*.internal\""}) {
    const auto rule = " any, hosts: " + std::string(host) + " }\n";
    const auto allowed = compiled("web:\n  a: { allow:" + rule);
    ASSERT_EQ(allowed.diagnostics.size(), 1U) << host;
    EXPECT_EQ(allowed.diagnostics.front().code, "P0391");
    EXPECT_NE(allowed.program, nullptr);
    EXPECT_TRUE(compiled("web:\n  a: { deny:" + rule).diagnostics.empty()) << host;
  }
  for (const auto* host : {"example.org", "\"*.org\"", "any", "198.41.0.4"})
    EXPECT_TRUE(
        compiled("web:\n  a: { allow: any, hosts: " + std::string(host) + " }\n").diagnostics.empty());
}

// What is told of a refusal is about the rule that came nearest, wherever it stands.
TEST(WebRefusal, NamesTheRuleThatWouldAllowNearlyTheSame) {
  const auto program = compiled(
                           "web:\n  aa: { allow: GET, hosts: a.example.org, tls: inspect }\n"
                           "  bb: { allow: GET, hosts: b.example.org, tls: inspect }\n"
                           "  cc: { allow: GET, hosts: c.example.org, tls: inspect }\n")
                           .program;
  ASSERT_NE(program, nullptr);
  const auto refused = judge(*program, fetch_of(box(), "POST", *parse_url("https://b.example.org/")));
  EXPECT_EQ(refused.effect, Effect::deny);
  EXPECT_NE(refused.reason.find("rule `bb` would, but for `method`"), std::string::npos) << refused.reason;
}

TEST(WebPattern, IsSpelledAsItWasWritten) {
  for (const auto* text : {"any", "example.org", "*.example.org", "10.0.0.1", "[2001:db8::1]"}) {
    const auto pattern = host_pattern(text);
    ASSERT_TRUE(pattern) << text;
    EXPECT_EQ(spell_host(*pattern), text);
  }
}

TEST(RefusedTarget, NamesItsFault) {
  const auto target = parse_url("http://0x7f.1/");
  ASSERT_FALSE(target);
  const auto judgement = refused_target(target.error());
  EXPECT_EQ(judgement.effect, Effect::deny);
  EXPECT_EQ(judgement.code, "web.ambiguous-ipv4");
}

}  // namespace
}  // namespace policy
