#include "gateway/approval/dialog.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace gateway {
namespace {

using namespace std::chrono_literals;

Question shown_as(policy::Json what) {
  Question question;
  question.id = "ask-1";
  question.asker.principal = {"uid:1000"};
  question.asker.os_user = "alice";
  question.asker.client_name = "nice\nrule: \"allowed\"";
  question.action = "run";
  question.rule.id = "careful";
  question.reason = "think\nfirst";
  question.what = std::move(what);
  return question;
}

TEST(Dialog, ShowsAllOfItOnOneLineThatCannotLookLikeAnother) {
  const auto what = [](std::string command) {
    return policy::Json(policy::Json::Object{{"command", policy::Json(std::move(command))}});
  };
  const auto text = *dialog_text(shown_as(what("a\n\nexactly this:\n    b   c\xE2\x80\xAE"
                                               "d\xC2\xA0\xD0\xB0\xF0\x9F\x98\x80\x7F\"\\")),
                                 90s);
  EXPECT_EQ(text,
            "Sallyport asks: may this be done, once?\n\n"
            "action: \"run\"\n"
            "for: user \"alice\", who uses a client that calls itself \"nice\\nrule: \\\"allowed\\\"\"\n"
            "rule: \"careful\"\n"
            "why a person is asked: \"think\\nfirst\"\n"
            "question: ask-1, open for 90 s\n\n"
            "exactly this:\n\n"
            "    {\"command\":\"a\\n\\nexactly this:\\n \\u0020 \\u0020b \\u0020 "
            "c\\u202ed\\u00a0\\u0430\\ud83d\\ude00"
            "\\u007f\\\"\\\\\"}\n");
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(Dialog, WhatIsLongerThanItCanShowIsNotAskedThere) {
  const auto of = [](std::size_t size) {
    return shown_as(policy::Json(policy::Json::Object{{"command", policy::Json(std::string(size, 'x'))}}));
  };
  EXPECT_TRUE(dialog_text(of(3900), 90s));
  EXPECT_FALSE(dialog_text(of(4000), 90s));
  EXPECT_FALSE(dialog_text(shown_as(policy::Json(std::string(2400, '\n'))), 90s));
}

}  // namespace
}  // namespace gateway
