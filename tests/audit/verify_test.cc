#include "audit/verify.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "audit/escape.h"
#include "audit/log.h"
#include "audit/show.h"
#include "tests/audit/requests.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/faulty_disk.h"

namespace audit {
namespace {

using policy::Effect;

// A log of random records in two or three segments.
class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(20260101);
    LogOptions options;
    options.segment_bytes = 4000;
    Log log(std::make_unique<fakes::FaultyDisk>(platter_), clock_, options);
    for (int i = 0; i < 8; ++i) {
      clock_.advance(std::chrono::milliseconds(random() % 5000));
      std::string command;
      for (auto n = random() % 60; n > 0; --n) command.push_back(static_cast<char>(random() % 256));
      const auto request = requests::run(command, i);
      const auto effect = random() % 3 == 0 ? Effect::deny : Effect::allow;
      const auto stands = requests::append(log, requests::decision(request, effect));
      ASSERT_TRUE(stands);
      receipts_.push_back(*stands);
      if (effect == Effect::allow) {
        ASSERT_TRUE(log.close(*stands, request, {true, "ok", 0}));
      }
    }
    for (const auto& name : platter_->names())
      if (name.starts_with("audit-")) names_.push_back(name);
    ASSERT_GE(names_.size(), 2U);
  }
  VerifyReport check(const VerifyOptions& options = {}) {
    fakes::FaultyDisk disk(platter_);
    return verify(disk, options);
  }
  static std::vector<std::string> split_lines(const std::string& bytes) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto end = bytes.find('\n', at) + 1;
      out.push_back(bytes.substr(at, end - at));
      at = end;
    }
    return out;
  }
  static std::string join(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out += line;
    return out;
  }
  // The damage must be reported as tampering in this segment and line (from 1).
  void expect_bad(const std::string& segment, std::uint64_t line, const std::string& what) {
    const auto report = check();
    ASSERT_TRUE(report.bad) << what << "\n" << to_text(report);
    EXPECT_EQ(exit_code(report.verdict), 1) << what;
    EXPECT_EQ(report.bad->segment, segment) << what;
    EXPECT_EQ(report.bad->line, line) << what << "\n" << to_text(report);
  }

  std::shared_ptr<fakes::Platter> platter_ = std::make_shared<fakes::Platter>();
  fakes::FakeClock clock_;
  std::vector<std::string> names_;
  std::vector<policy::Receipt> receipts_;
};

TEST_F(VerifyTest, AWholeLogIsGoodAndTheReportSaysWhatItCovers) {
  const auto report = check();
  EXPECT_EQ(exit_code(report.verdict), 0) << to_text(report);
  EXPECT_EQ(report.segments, names_.size());
  EXPECT_EQ(report.not_covered.size(), 3U);
  const auto text = to_text(report);
  EXPECT_NE(text.find("verdict: good\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cut off behind record " + std::to_string(*report.last_seq)), std::string::npos)
      << text;
  EXPECT_EQ(*to_json(report).find("exit"), policy::Json(0));
}

TEST_F(VerifyTest, ReportsEveryChangedByteWithItsPlace) {
  for (const auto& name : names_) {
    const auto whole = platter_->bytes(name);
    std::uint64_t line = 1;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      auto changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      platter_->put(name, changed);
      if (i + 1 == whole.size() && name == names_.back()) {
        // The very last newline: a write that was cut off looks the same.
        const auto report = check();
        EXPECT_EQ(exit_code(report.verdict), 4);
        EXPECT_NE(report.warnings.at(0).find(name + " line " + std::to_string(line)), std::string::npos);
      } else {
        expect_bad(name, line, name + " byte " + std::to_string(i));
      }
      if (whole[i] == '\n') ++line;
      if (HasFailure()) return;
    }
    platter_->put(name, whole);
  }
}

TEST_F(VerifyTest, ReportsRemovedDoubledAndInsertedLines) {
  for (const auto& name : names_) {
    const auto whole = platter_->bytes(name);
    const auto lines = split_lines(whole);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto doubled = lines;
      doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
      platter_->put(name, join(doubled));
      expect_bad(name, i + 2, "doubled");

      auto inserted = lines;
      inserted.insert(inserted.begin() + static_cast<std::ptrdiff_t>(i), "{}\n");
      platter_->put(name, join(inserted));
      expect_bad(name, i + 1, "inserted");

      auto removed = lines;
      removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
      platter_->put(name, join(removed));
      if (i + 1 < lines.size()) {
        expect_bad(name, i + 1, "removed");
      } else if (name != names_.back()) {
        EXPECT_EQ(exit_code(check().verdict), 1);
        EXPECT_NE(check().bad->segment, name) << "the next segment tells";
      }
    }
    platter_->put(name, whole);
  }
}

TEST_F(VerifyTest, ReportsSwappedLines) {
  for (const auto& name : names_) {
    const auto whole = platter_->bytes(name);
    const auto lines = split_lines(whole);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t j = i + 1; j < lines.size(); ++j) {
        auto swapped = lines;
        std::swap(swapped[i], swapped[j]);
        platter_->put(name, join(swapped));
        expect_bad(name, i + 1, "swapped");
      }
    }
    platter_->put(name, whole);
  }
}

TEST_F(VerifyTest, ReportsACutAtEveryByteOfTheLastRecord) {
  const auto whole = platter_->bytes(names_.back());
  const auto last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t cut = last + 1; cut < whole.size(); ++cut) {
    platter_->put(names_.back(), whole.substr(0, cut));
    const auto report = check();
    ASSERT_EQ(exit_code(report.verdict), 4) << cut;
    EXPECT_NE(report.warnings.at(0).find("byte " + std::to_string(last)), std::string::npos);
  }
}

TEST_F(VerifyTest, ACutBetweenRecordsShowsOnlyAgainstAnAnchor) {
  const auto good = check();
  const VerifyOptions anchored{{{*good.last_seq, good.head}}};
  EXPECT_EQ(check(anchored).verdict, Verdict::good);
  const auto whole = platter_->bytes(names_.back());
  platter_->put(names_.back(), whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  EXPECT_NE(exit_code(check().verdict), 1);
  const auto report = check(anchored);
  EXPECT_EQ(exit_code(report.verdict), 1);
  EXPECT_EQ(report.bad->fault.code, "anchor");
}

TEST_F(VerifyTest, ReceiptsAreAnchors) {
  for (const auto& receipt : receipts_) {
    EXPECT_EQ(check({{{receipt.seq, receipt.hash}}}).verdict, Verdict::good);
    const auto report = check({{{receipt.seq, std::string(64, '0')}}});
    EXPECT_EQ(exit_code(report.verdict), 1);
    EXPECT_EQ(report.bad->fault.seq, receipt.seq);
  }
}

TEST_F(VerifyTest, ReportsMissingSwappedAndForeignSegments) {
  const auto first = platter_->bytes(names_[0]), second = platter_->bytes(names_[1]);
  platter_->put(names_[0], second);
  platter_->put(names_[1], first);
  expect_bad(names_[0], 1, "swapped segments");
  platter_->put(names_[0], first);
  platter_->put(names_[1], second);

  platter_->put("audit-00000000-0.jsonl", first);
  EXPECT_EQ(exit_code(check().verdict), 1);
  platter_->remove("audit-00000000-0.jsonl");

  if (names_.size() > 2) {
    platter_->remove(names_[1]);
    expect_bad(names_[2], 0, "a hole");
    platter_->put(names_[1], second);
  }
  platter_->remove(names_[0]);
  const auto report = check();
  EXPECT_EQ(exit_code(report.verdict), 3) << to_text(report);
  EXPECT_NE(report.missing.at(0).find("segments 0 to 0"), std::string::npos);
}

TEST_F(VerifyTest, NothingAtAllIsIncomplete) {
  platter_ = std::make_shared<fakes::Platter>();
  EXPECT_EQ(exit_code(check().verdict), 3);
  EXPECT_EQ(exit_code(verify("/nonexistent/folder").verdict), 3);
}

TEST(VerifySample, TheSampleLogIsGoodAndItsSignaturesAreNamedAsNotCovered) {
  const auto report = verify(std::string(SALLYPORT_SOURCE_DIR) + "/tests/data/audit/sample");
  EXPECT_EQ(exit_code(report.verdict), 0) << to_text(report);
  EXPECT_EQ(report.records, 11U);
  EXPECT_EQ(report.head, "fd3ea2776658b5fb49b43bed09a0b1c67e2313185dcb0aa71c7378bc3d055015");
  EXPECT_NE(to_text(report).find("signatures of the log's key were not checked"), std::string::npos);
}

class ShowTest : public VerifyTest {
 protected:
  std::string shown(const Selection& selection, ShowForm form) {
    fakes::FaultyDisk disk(platter_);
    std::string out;
    const auto count = show(disk, selection, form, [&](std::string_view piece) { out += piece; });
    return count ? out : "(" + count.error().code + ")";
  }
};

TEST_F(ShowTest, FindsByNumberAcrossSegments) {
  for (const auto& receipt : receipts_) {
    const auto raw = shown(BySeq{receipt.seq}, ShowForm::raw);
    EXPECT_NE(raw.find(receipt.hash), std::string::npos);
    EXPECT_EQ(std::count(raw.begin(), raw.end(), '\n'), 1);
    EXPECT_TRUE(shown(BySeq{receipt.seq}, ShowForm::text)
                    .starts_with("record " + std::to_string(receipt.seq) + "  "));
  }
  EXPECT_EQ(shown(BySeq{100'000}, ShowForm::raw), "(audit.none)");
}

TEST_F(ShowTest, TheLastRecordsComeOldestFirst) {
  const auto all = shown(LastRecords{10'000}, ShowForm::raw);
  std::string stored;
  for (const auto& name : names_) stored += platter_->bytes(name);
  EXPECT_EQ(all, stored);
  const auto three = shown(LastRecords{3}, ShowForm::raw);
  EXPECT_TRUE(stored.ends_with(three));
  EXPECT_EQ(std::count(three.begin(), three.end(), '\n'), 3);
}

TEST_F(ShowTest, ACallShowsItsDecisionAndOutcome) {
  const auto text = shown(ByCall{requests::call(1).text()}, ShowForm::raw);
  EXPECT_NE(text.find("\"ph\":\"req\""), std::string::npos);
  EXPECT_EQ(shown(ByCall{"call-none"}, ShowForm::raw), "(audit.none)");
}

TEST(Show, PassesNothingToATerminalThatActsOnIt) {
  auto platter = std::make_shared<fakes::Platter>();
  fakes::FakeClock clock;
  {
    Log log(std::make_unique<fakes::FaultyDisk>(platter), clock);
    // ESC, BEL, DEL, C1 CSI, right-to-left override, zero-width space, tag character, newline, backslash.
    const std::string evil =
        "\x1b[2J\x07\x7f\xC2\x9B\xE2\x80\xAE\xE2\x80\x8B\xF3\xA0\x81\x81\nforged line\\u{1b}";
    auto d = requests::decision(requests::run(evil), policy::Effect::deny);
    d.reason = evil;
    d.request.who.client_name = evil;
    ASSERT_TRUE(requests::append(log, d));
  }
  fakes::FaultyDisk disk(platter);
  for (const auto form : {ShowForm::text, ShowForm::json}) {
    std::string out;
    ASSERT_TRUE(show(disk, BySeq{1}, form, [&](std::string_view piece) { out += piece; }));
    EXPECT_EQ(out, terminal_safe_lines(out)) << "nothing is left to escape";
    EXPECT_EQ(out.find("\nforged"), std::string::npos);
    if (form == ShowForm::text) {
      EXPECT_NE(out.find(R"(\u{1b}[2J\u{07}\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}\u{0a}forged line\\u{1b})"),
                std::string::npos)
          << out;
    }
    if (form == ShowForm::json) {
      EXPECT_NE(out.find(R"(\u009b\u202e\u200b\udb40\udc41\nforged line\\u{1b})"), std::string::npos) << out;
    }
  }
  EXPECT_EQ(terminal_safe("a\xff\\"), "a\\xff\\\\");
}

}  // namespace
}  // namespace audit
