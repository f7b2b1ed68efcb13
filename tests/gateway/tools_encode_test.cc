#include "gateway/tools/encode.h"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/mcp/writer.h"
#include "gateway/tools/output_window.h"
#include "gateway/tools/table.h"
#include "tests/gateway/mcp_schema.h"

namespace {

using namespace gateway::tools;
using gateway::mcp::Image;
using gateway::mcp::Text;
using gateway::mcp::ToolOutcome;
using nlohmann::json;

constexpr Now kNow{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

policy::SandboxId sandbox_id() { return *policy::SandboxId::parse("sbx-0123456789abcdef0123456789abcdef"); }
policy::JobId job_id() { return *policy::JobId::parse("job-0123456789abcdef0123456789abcdef"); }

vmware::SandboxInfo sandbox() {
  return {sandbox_id(),
          {"uid:1000"},
          policy::Network::none,
          vmware::SandboxState::ready,
          kNow - std::chrono::minutes(5),
          kNow + std::chrono::minutes(115)};
}

vmware::JobView job(std::string out, std::string err = {}) {
  vmware::JobView view{job_id(), vmware::JobStatus::exited, 3, {}, {}, std::chrono::milliseconds(1500), kNow};
  view.out.total = out.size();
  view.out.bytes = std::move(out);
  view.err.total = err.size();
  view.err.bytes = std::move(err);
  return view;
}

std::string png(std::uint8_t width, std::size_t size) {
  std::string bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\0\0\0\x03\0", 24);
  bytes[19] = static_cast<char>(width);
  bytes.resize(std::max<std::size_t>(size, 24));
  return bytes;
}

// The structured result, after checking it against the tool's schema, its twin in text, and its size.
json facts(std::string_view tool, const ToolResult& result) {
  EXPECT_EQ(mcp_test::fault_in(output_schema(*find(tool)), result.structured), "")
      << tool << " " << result.structured.substr(0, 300);
  const std::string members = gateway::mcp::tool_result_members(result);
  EXPECT_LT(members.size(), 1'000'000U);
  EXPECT_EQ(result.structured.find('\n'), std::string::npos);
  const json whole = json::parse("{" + members + "}");
  EXPECT_EQ(mcp_test::fault_against("2025-11-25", "CallToolResult", whole.dump()), "");
  const json structured = json::parse(result.structured);
  if (result.outcome == ToolOutcome::success) {
    EXPECT_EQ(json::parse(std::get<Text>(result.content.back()).text), structured);
    for (const auto& field : find(tool)->results) {
      if (field.presence == Presence::required) {
        EXPECT_TRUE(structured.contains(field.name)) << field.name;
      }
    }
  }
  return structured;
}

TEST(ToolEncode, DescribesSandboxes) {
  const auto created_facts = facts("sandbox_create", created(sandbox(), kNow));
  EXPECT_EQ(created_facts.at("sandbox_id"), sandbox_id().text());
  EXPECT_EQ(created_facts.at("expires_at"), "2026-01-01T01:55:00Z");
  EXPECT_EQ(created_facts.at("age_seconds"), 300);
  EXPECT_EQ(facts("sandbox_list", listed({}, kNow)).at("sandboxes"), json::array());
  EXPECT_EQ(facts("sandbox_list", listed({sandbox(), sandbox()}, kNow)).at("count"), 2);
  EXPECT_EQ(facts("sandbox_extend", extended(sandbox(), kNow)).at("expires_in_seconds"), 6900);
  auto late = sandbox();
  late.expires = kNow - std::chrono::hours(1);
  late.state = vmware::SandboxState::lost;
  EXPECT_EQ(facts("sandbox_create", created(late, kNow)).at("expires_in_seconds"), 0);
}

TEST(ToolEncode, TellsHowACommandEnded) {
  const auto ended = facts("sandbox_run", ran(job("hi\n", "oops\n")));
  EXPECT_EQ(ended.at("status"), "exited");
  EXPECT_EQ(ended.at("exit_code"), 3);
  EXPECT_EQ(ended.at("stdout"), "hi\n");
  EXPECT_EQ(ended.at("stderr"), "oops\n");
  EXPECT_EQ(ended.at("stdout_truncated"), false);
  EXPECT_EQ(ended.at("stdout_next_offset"), 3);
  EXPECT_EQ(ended.at("duration_ms"), 1500);
  for (const auto& [status, name] : {std::pair{vmware::JobStatus::running, "running"},
                                     {vmware::JobStatus::stopped, "stopped"},
                                     {vmware::JobStatus::timed_out, "timed_out"},
                                     {vmware::JobStatus::lost, "lost"}}) {
    auto view = job("x");
    view.status = status;
    const auto other = facts("sandbox_check", checked(view, {}));
    EXPECT_EQ(other.at("status"), name);
    EXPECT_FALSE(other.contains("exit_code"));
  }
  EXPECT_EQ(facts("sandbox_start", started(job(""))).at("job_id"), job_id().text());
  EXPECT_EQ(facts("sandbox_stop", stopped(job(""), StopEffect::had_ended)).at("effect"), "had_ended");
}

TEST(ToolEncode, TellsAboutCopiesAndInput) {
  EXPECT_EQ(facts("sandbox_copy_in", copied_in({"/tmp/a", 2, 10})).at("files"), 2);
  CopiedOut copy{"out", 3, 12, std::string(64, 'a'), {{"link", 40}, {"name", 2}}, {}};
  for (int i = 0; i < 42; ++i) copy.skipped_names.push_back("\xff\n" + std::string(1000, 'n'));
  const auto out = facts("sandbox_copy_out", copied_out(copy));
  EXPECT_EQ(out.at("skipped_total"), 42);
  EXPECT_EQ(out.at("skipped").at("link"), 40);
  EXPECT_EQ(out.at("skipped_names").size(), 20U);
  EXPECT_EQ(facts("sandbox_click", clicked({sandbox_id(), 1, 2, policy::MouseButton::right, 2})).at("clicks"),
            2);
  EXPECT_EQ(facts("sandbox_type", typed(5)).at("characters"), 5);
  EXPECT_EQ(facts("sandbox_key", pressed({sandbox_id(), "ctrl+s"})).at("keys"), "ctrl+s");
  EXPECT_EQ(facts("sandbox_destroy", destroyed(sandbox_id())).at("destroyed"), true);
}

TEST(ToolEncode, ShowsAPictureWithItsSizeOrSaysWhyNot) {
  const auto result = screen(png(0, 700'000));
  EXPECT_EQ(std::get<Image>(result.content.front()).mime_type, "image/png");
  EXPECT_EQ(facts("sandbox_screenshot", result),
            json::parse(R"({"width":1024,"height":768,"format":"png","bytes":700000})"));
  EXPECT_EQ(facts("sandbox_screenshot", screen(png(0, 700'001))).at("code"), "screenshot.too_large");
  EXPECT_EQ(facts("sandbox_screenshot", screen("GIF89a")).at("code"), "screenshot.format");
  EXPECT_EQ(facts("sandbox_screenshot", screen("")).at("code"), "screenshot.format");
}

TEST(ToolEncode, KeepsHostileOutputWithinBounds) {
  for (const std::string& unit :
       {std::string("\x01"), std::string("\xff"), std::string("\""), std::string("\xf0\x9f\x98\x80"),
        std::string("\x1b]0;x\x07"), std::string("\\\n"), std::string("\xed\xa0\x80")}) {
    std::string flood;
    while (flood.size() < 1'000'000) flood += unit;
    auto view = job(flood, flood);
    view.out.total = view.err.total = ~std::uint64_t{0};
    view.out.offset = std::uint64_t{1} << 60;
    view.out.truncated = view.err.truncated = true;
    facts("sandbox_run", ran(view));
    facts("sandbox_check", checked(view, {.out = 0, .err = ~std::uint64_t{0} >> 1}));
  }
}

TEST(ToolEncode, SharesTheRoomBetweenBothStreams) {
  const std::string large(100'000, 'a');
  auto both = facts("sandbox_run", ran(job(large, large)));
  EXPECT_EQ(both.at("stdout").get<std::string>().size(), 20'000U);
  EXPECT_EQ(both.at("stderr").get<std::string>().size(), 20'000U);
  both = facts("sandbox_run", ran(job(large, "short")));
  EXPECT_EQ(both.at("stdout").get<std::string>().size(), 39'995U);
  EXPECT_EQ(both.at("stderr"), "short");
  EXPECT_EQ(both.at("stdout_truncated"), true);
  EXPECT_EQ(both.at("stdout_offset"), 100'000 - 39'995);
  both = facts("sandbox_run", ran(job("short", large)));
  EXPECT_EQ(both.at("stderr").get<std::string>().size(), 39'995U);
}

TEST(OutputWindow, CutsAtLineEndsAndNeverInsideACharacter) {
  vmware::StreamView stream;
  for (int i = 0; i < 100; ++i) stream.bytes += "line \xc3\xa9 " + std::to_string(i) + "\n";
  stream.total = stream.bytes.size();
  const auto newest = window(stream, {}, 100, Growth::ended);
  EXPECT_TRUE(newest.bytes.starts_with("line"));
  EXPECT_EQ(newest.next, stream.total);
  EXPECT_LE(newest.chars, 100U);
  EXPECT_TRUE(newest.truncated);
  const auto first = window(stream, 0, 100, Growth::ended);
  EXPECT_TRUE(first.bytes.ends_with("\n"));
  EXPECT_EQ(first.offset, 0U);
  EXPECT_TRUE(first.truncated);

  vmware::StreamView accents;
  for (int i = 0; i < 100; ++i) accents.bytes += "\xe2\x82\xac";
  accents.total = accents.bytes.size();
  for (std::size_t budget = 1; budget < 100; ++budget) {
    EXPECT_EQ(window(accents, {}, budget, Growth::ended).bytes.size(), 3 * budget);
    EXPECT_EQ(window(accents, 0, budget, Growth::ended).bytes.size(), 3 * budget);
  }
}

TEST(OutputWindow, LeavesAnIncompleteCharacterForLaterWhileTheStreamGrows) {
  vmware::StreamView stream{"ab\xe2\x82", 0, 4, false};
  const auto growing = window(stream, {}, 100, Growth::growing);
  EXPECT_EQ(growing.bytes, "ab");
  EXPECT_EQ(growing.next, 2U);
  EXPECT_FALSE(growing.truncated);
  EXPECT_EQ(window(stream, {}, 100, Growth::ended).bytes.size(), 4U);
}

TEST(OutputWindow, SaysWhenWhatWasAskedForIsGone) {
  const vmware::StreamView stream{"tail", 1000, 1004, true};
  EXPECT_TRUE(window(stream, {}, 100, Growth::ended).truncated);
  EXPECT_TRUE(window(stream, 5, 100, Growth::ended).truncated);
  const auto rest = window(stream, 1002, 100, Growth::ended);
  EXPECT_EQ(rest.bytes, "il");
  EXPECT_FALSE(rest.truncated);
  const auto beyond = window(stream, 5000, 100, Growth::ended);
  EXPECT_EQ(beyond.bytes, "");
  EXPECT_EQ(beyond.next, 1004U);
  EXPECT_FALSE(beyond.truncated);
}

// Reading on from each answer's next offset gives the whole stream, whatever bytes it holds.
TEST(OutputWindow, PiecesMakeTheWhole) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    vmware::StreamView stream;
    const std::size_t size = random() % 3000;
    while (stream.bytes.size() < size) {
      static constexpr std::string_view kParts[] = {
          "a", "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\xe2"};
      stream.bytes += kParts[random() % std::size(kParts)];
    }
    stream.total = stream.bytes.size();
    std::string whole;
    std::uint64_t at = 0;
    for (int pieces = 0; at < stream.total; ++pieces) {
      ASSERT_LT(pieces, 4000);
      const auto piece = window(stream, at, 1 + random() % 50, Growth::ended);
      ASSERT_EQ(piece.offset, at);
      ASSERT_GT(piece.next, at);
      EXPECT_EQ(piece.truncated, piece.next < stream.total);
      whole += piece.bytes;
      at = piece.next;
    }
    EXPECT_EQ(whole, stream.bytes);
  }
}

}  // namespace
