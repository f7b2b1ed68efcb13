#include "gateway/mcp/line_reader.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using gateway::mcp::LineReader;

std::vector<std::string> read_in_pieces(std::string_view stream, std::size_t limit, std::size_t largest,
                                        unsigned seed) {
  std::mt19937 random(seed);
  LineReader reader(limit);
  std::vector<std::string> lines;
  const auto keep = [&](const LineReader::Line& line) {
    lines.push_back(line.kind == LineReader::Kind::too_long ? "<too long>" : line.text);
  };
  while (!stream.empty()) {
    const std::size_t size = std::min<std::size_t>(stream.size(), 1 + random() % largest);
    reader.push(stream.substr(0, size));
    stream.remove_prefix(size);
    while (auto line = reader.next()) keep(*line);
  }
  if (auto line = reader.finish()) keep(*line);
  return lines;
}

TEST(LineReader, GivesTheSameLinesHoweverTheBytesArrive) {
  const std::string stream = "one\n\nthree\r\n" + std::string(20, 'x') + "\nfive\n" + std::string(8, 'y') +
                             "\n" + std::string(9, 'z') + "\nlast";
  const std::vector<std::string> expected{"one",  "",         "three\r",    "<too long>",
                                          "five", "yyyyyyyy", "<too long>", "last"};
  for (unsigned seed = 0; seed < 200; ++seed) {
    for (const std::size_t largest : {1U, 3U, 40U, 1000U})
      EXPECT_EQ(read_in_pieces(stream, 8, largest, seed), expected);
  }
}

TEST(LineReader, ReportsALineThatNeverEndsOnceAndKeepsNothingOfIt) {
  LineReader reader(1000);
  int reports = 0;
  for (int i = 0; i < 1000; ++i) {
    reader.push(std::string(500, 'a'));
    while (reader.next()) ++reports;
  }
  EXPECT_EQ(reports, 1);
  reader.push("\nnext\nhalf");
  const auto line = reader.next();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->text, "next");
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.finish()->text, "half");
}

}  // namespace
