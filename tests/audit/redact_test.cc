#include "audit/redact.h"

#include <gtest/gtest.h>

#include <string>

#include "audit/text.h"
#include "policy/json.h"

namespace audit {
namespace {

using policy::Json;

const Redactor& redactor() {
  static const Redactor value("a key for tests, thirty-two bytes");
  return value;
}

TEST(Redactor, TakesSecretShapesOutOfText) {
  const struct {
    std::string text, secret, rule;
  } table[] = {
      {"export K=AKIAIOSFODNN7EXAMPLE; ls", "AKIAIOSFODNN7EXAMPLE", "aws-key"},
      {"git clone x ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
       "github-token"},
      {"x ghs_abcdefghijklmnopqrstuvwxyz0123456789 y", "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
       "github-token"},
      {"curl -H 'Authorization: Bearer abc.def-123' https://x", "abc.def-123", "authorization"},
      {"curl -H \"authorization: Basic dXNlcjpwYXNz\" https://x", "dXNlcjpwYXNz", "authorization"},
      {"mysql --password=hunter2 db", "hunter2", "assignment"},
      {"PASSWORD='two words' ./x", "two words", "assignment"},
      {"DB_PASSWD=abc;id", "abc", "assignment"},
      {"{\"api_key\": \"k-123\"}", "k-123", "assignment"},
      {"https://x/?token=abcdef&y=1", "abcdef", "assignment"},
      {"tool --token abcdef run", "abcdef", "option"},
      {"git clone https://alice:s3cret@example.com/x", "alice:s3cret", "url-userinfo"},
      {"git clone https://tok@en@example.com/x", "tok@en", "url-userinfo"},
      {"vmrun -gu agent -gp hunter2 list", "hunter2", "login"},
      {"curl -u alice:s3cret http://x", "alice:s3cret", "login"},
      {"echo '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\nNza\n-----END OPENSSH PRIVATE KEY-----' > k",
       "b3Blbn", "private-key"},
      {"-----BEGIN PRIVATE KEY-----\ncut off in the midd", "cut off in the midd", "private-key"},
      {"Cookie: session=abcdef", "abcdef", "cookie"},
  };
  for (const auto& row : table) {
    std::string out;
    EXPECT_EQ(redactor().text(row.text, out), 1) << row.text << " -> " << out;
    EXPECT_EQ(out.find(row.secret), std::string::npos) << out;
    EXPECT_NE(out.find("{~red:" + row.rule + ":"), std::string::npos) << out;
  }
}

TEST(Redactor, LeavesOrdinaryCommandsAlone) {
  for (const std::string text :
       {"ls -la /tmp", "git clone https://example.com/a/b.git", "python3 -m http.server 8000", "grep -gp",
        "echo $PATH | tr : '\\n'", "cat monkey.txt", "tar -xzf a.tgz && make -j2", ""}) {
    std::string out = "untouched";
    EXPECT_EQ(redactor().text(text, out), 0) << text << " -> " << out;
    EXPECT_EQ(out, "untouched");
  }
}

TEST(Redactor, EqualSecretsLookEqualInOneLogAndDifferentInAnother) {
  const Redactor other("another key, also for tests only");
  std::string a, b, c;
  redactor().text("password=hunter2", a);
  redactor().text("x password=hunter2", b);
  other.text("password=hunter2", c);
  EXPECT_EQ("x " + a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(redactor().text_key(), other.text_key());
}

TEST(Redactor, WorksByStructureInsideValues) {
  Json value;
  value["password"] = "hunter2";
  value["Token"] = Json(Json::Array{Json("hunter2")});
  value["words"] = Json(Json::Array{Json("-gu"), Json("agent"), Json("-gp"), Json("hunter2"), Json("list")});
  value["nested"]["command"] = "export TOKEN=hunter2";
  std::string out;
  CleanWriter writer(redactor(), out);
  writer.value(value, 10'000);
  EXPECT_EQ(writer.redactions(), 4);
  EXPECT_EQ(out.find("hunter2"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("rule":"login","type":"str"}})"), std::string::npos) << out;
  EXPECT_NE(out.find("\"list\""), std::string::npos) << out;
}

TEST(Redactor, FindsSecretsInBytesThatAreNotUtf8) {
  std::string out;
  EXPECT_EQ(redactor().text("\xff\xfe password=hunter2\xff", out), 1);
  EXPECT_EQ(out.find("hunter2"), std::string::npos);
}

TEST(Redactor, TakesASecretOutBeforeTheTextIsCut) {
  std::string out;
  CleanWriter(redactor(), out)
      .text(std::string(100, 'x') + " password=hunter2 " + std::string(5000, 'y'), 300);
  EXPECT_EQ(out.find("hunter2"), std::string::npos);
  EXPECT_NE(out.find("~cut"), std::string::npos);
}

}  // namespace
}  // namespace audit
