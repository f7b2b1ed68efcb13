#include "audit/redact.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <re2/re2.h>

#include "policy/digest.h"

namespace audit {
namespace {

struct Shape {
  const char* name;
  const char* pattern;  // RE2 over bytes; the first group is the secret
};

constexpr Shape kShapes[] = {
    {"private-key",
     R"((?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)))"},
    {"aws-key", R"(\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b)"},
    {"github-token", R"(\b(gh[pousr]_[A-Za-z0-9]{16,255}|github_pat_[A-Za-z0-9_]{16,255}))"},
    {"gitlab-token", R"(\b(glpat-[A-Za-z0-9_-]{16,255}))"},
    {"slack-token", R"(\b(xox[abeoprs]-[A-Za-z0-9-]{10,255}))"},
    {"google-key", R"(\b(AIza[0-9A-Za-z_-]{35}))"},
    {"api-key", R"(\b(sk-[A-Za-z0-9_-]{20,255}))"},
    {"jwt", R"(\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*))"},
    {"authorization", R"((?i)authorization["']?\s*[:=]\s*["']?[a-z0-9_-]{1,32}[ \t]+([^\s"'\\,]+))"},
    {"authorization", R"((?i)authorization["']?\s*[:=]\s*["']?([^\s"'\\,]+)["']?(?:[\r\n;|&]|$))"},
    {"bearer", R"((?i)\bbearer\s+([a-z0-9._~+/=-]{8,}))"},
    {"cookie", R"((?i)\b(?:set-)?cookie\s*:\s*([^\r\n"']+))"},
    {"url-userinfo", R"((?i)[a-z][a-z0-9+.-]{0,31}://([^\s/?#"'<>]+)@)"},
    {"login", R"((?:^|[\s;|&(])-[gv]p[\s=]+('[^']*'|"[^"]*"|[^\s'"]+))"},
    {"login",
     R"(\b(?:curl|wget)\b[^\r\n;|&]*?\s(?:-u|--user|--proxy-user|-U)[\s=]*['"]?([^\s:'"]+:[^\s'"]+))"},
    {"assignment",
     R"((?i)(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)[a-z0-9_-]{0,32}["']?\s*(?:[:=]|=>)\s*("[^"]*"|'[^']*'|[^\s&;|"',})]+))"},
    {"option",
     R"((?i)\s--?(?:[a-z0-9]+-){0,4}(?:passw(?:or)?d|passphrase|secret|token|api-?key|access-?key)\s+("[^"]*"|'[^']*'|[^\s&;|"'-][^\s&;|"']*))"},
};

// Something of this, in any case of letters, is in every text that a shape above matches. A quick look for it
// spares nearly every text the shapes.
constexpr std::string_view kHints[] = {
    "private", "akia",   "asia",    "abia",  "acca", "ghp_",   "gho_",       "ghu_",
    "ghs_",    "ghr_",   "github_", "glpat", "xox",  "aiza",   "sk-",        "eyj",
    "author",  "bearer", "cookie",  "://",   "-gp",  "-vp",    "curl",       "wget",
    "passw",   "passph", "secret",  "token", "api",  "access", "credential",
};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Which hints begin with a byte, and whether any does with a pair of bytes (by their low five bits).
struct HintTable {
  std::array<std::array<bool, 32>, 256> pair{};
  constexpr HintTable() {
    for (const auto hint : kHints) {
      for (int c = 0; c < 256; ++c) {
        if (lower(static_cast<char>(c)) == hint[0])
          pair[static_cast<std::size_t>(c)][static_cast<unsigned char>(hint[1]) & 31U] = true;
      }
    }
  }
};
constexpr HintTable kHintTable;

bool hinted(std::string_view text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (!kHintTable.pair[static_cast<unsigned char>(text[i])][static_cast<unsigned char>(text[i + 1]) & 31U])
      continue;
    const auto rest = text.substr(i);
    for (const auto hint : kHints) {
      if (rest.size() >= hint.size() &&
          std::equal(hint.begin(), hint.end(), rest.begin(), [](char a, char b) { return a == lower(b); })) {
        return true;
      }
    }
  }
  return false;
}

constexpr std::string_view kSecretMembers[] = {
    "access_key", "api_key",    "apikey",   "authorization",  "cookie",      "credentials",
    "passphrase", "passwd",     "password", "guest_password", "private_key", "proxy-authorization",
    "secret",     "set-cookie", "token",
};
constexpr std::string_view kSecretFollows[] = {"-gp",          "-vp",      "--password",
                                               "--passphrase", "--secret", "--token"};

struct Span {
  std::size_t from, to;
  const char* rule;
};

}  // namespace

struct Redactor::Rules {
  struct Rule {
    const char* name;
    RE2 pattern;
  };
  std::vector<std::unique_ptr<Rule>> all;

  static RE2::Options options() {
    RE2::Options o(RE2::Latin1);
    o.set_log_errors(false);
    return o;
  }
  Rules() {
    for (const auto& shape : kShapes) {
      all.push_back(std::unique_ptr<Rule>(new Rule{shape.name, {shape.pattern, options()}}));
      if (!all.back()->pattern.ok() || all.back()->pattern.NumberOfCapturingGroups() != 1) broken(shape.name);
    }
  }
  [[noreturn]] static void broken(const char* what) {
    std::fprintf(stderr, "sallyport: the redaction rule %s does not compile\n", what);
    std::abort();
  }
};

Redactor::Redactor(std::string_view key) : rules_(std::make_unique<const Rules>()) {
  const auto derive = [&](std::string_view purpose) {
    const auto value = policy::hmac_sha256(key, purpose);
    return std::string(value.bytes.begin(), value.bytes.end());
  };
  red_key_ = derive("sallyport redaction");
  text_key_ = derive("sallyport typed text");
}
Redactor::~Redactor() = default;

std::string Redactor::hmac(std::string_view secret) const {
  return policy::hmac_sha256(red_key_, secret).hex().substr(0, 32);
}

std::string Redactor::digest(std::string_view text) const {
  return policy::hmac_sha256(text_key_, text).hex();
}

int Redactor::text(std::string_view in, std::string& out) const {
  const re2::StringPiece all(in.data(), in.size());
  if (!hinted(in)) return 0;
  std::vector<Span> spans;
  for (const auto& rule : rules_->all) {
    re2::StringPiece rest = all, secret;
    // Each match consumes at least one byte, so this ends.
    while (RE2::FindAndConsume(&rest, rule->pattern, &secret)) {
      if (secret.empty()) continue;
      const auto from = static_cast<std::size_t>(secret.data() - in.data());
      spans.push_back({from, from + secret.size(), rule->name});
    }
  }
  if (spans.empty()) return 0;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.from != b.from ? a.from < b.from : a.to > b.to; });
  std::vector<Span> merged;
  for (const auto& span : spans) {
    if (!merged.empty() && span.from < merged.back().to) {
      merged.back().to = std::max(merged.back().to, span.to);
    } else {
      merged.push_back(span);
    }
  }
  out.clear();
  std::size_t at = 0;
  for (const auto& span : merged) {
    const auto secret = in.substr(span.from, span.to - span.from);
    out.append(in.substr(at, span.from - at));
    out.append("{~red:").append(span.rule).append(":").append(std::to_string(secret.size()));
    out.append(":").append(hmac(secret)).append("}");
    at = span.to;
  }
  out.append(in.substr(at));
  return static_cast<int>(merged.size());
}

bool Redactor::secret_member(std::string_view name) {
  const auto same = [&](std::string_view known) {
    return std::equal(name.begin(), name.end(), known.begin(), known.end(),
                      [](char a, char b) { return lower(a) == b; });
  };
  return std::any_of(std::begin(kSecretMembers), std::end(kSecretMembers), same);
}

bool Redactor::secret_follows(std::string_view word) {
  return std::find(std::begin(kSecretFollows), std::end(kSecretFollows), word) != std::end(kSecretFollows);
}

void Redactor::whole(std::string_view value, std::string_view rule, std::string& out) const {
  out.append(R"({"~red":{"hmac":")").append(hmac(value)).append(R"(","len":)");
  out.append(std::to_string(value.size())).append(R"(,"rule":")").append(rule).append(R"(","type":"str"}})");
}

}  // namespace audit
