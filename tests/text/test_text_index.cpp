#include "text/text_index.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace plm {
namespace {

using Views = std::vector<std::string_view>;

TEST(TextIndex, FindsEachTextAndNothingElse) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i)
    texts.push_back(std::string(static_cast<std::size_t>(i % 23), 'x') + std::to_string(i));
  const Views views(texts.begin(), texts.end());
  const TextIndex index = TextIndex::build(views).value();
  for (std::uint32_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(index.find(texts[i]), i) << texts[i];
    EXPECT_EQ(index.find(texts[i] + "y"), std::nullopt) << texts[i];
  }
  EXPECT_TRUE(index.duplicates().empty());
}

TEST(TextIndex, DistinguishesTextsThatShareTheirFirstBytes) {
  const std::string zeros("\0\0", 2);
  const Views views{"", std::string_view(zeros).substr(0, 1), zeros, "12345678", "123456789", "12345678a", "1234567"};
  const TextIndex index = TextIndex::build(views).value();
  for (std::uint32_t i = 0; i < views.size(); ++i) EXPECT_EQ(index.find(views[i]), i);
  EXPECT_EQ(index.find("12345678b"), std::nullopt);
}

TEST(TextIndex, TheLowestNumberStandsForEqualTexts) {
  const Views views{"a", "b", "a", "long enough to leave the slot", "b", "long enough to leave the slot"};
  const TextIndex index = TextIndex::build(views).value();
  EXPECT_EQ(index.find("a"), 0U);
  EXPECT_EQ(index.find("b"), 1U);
  EXPECT_EQ(index.find("long enough to leave the slot"), 3U);
  EXPECT_EQ(std::vector(index.duplicates().begin(), index.duplicates().end()), (std::vector<std::uint32_t>{2, 4, 5}));
}

TEST(TextIndex, AnEmptyOneFindsNothing) {
  EXPECT_EQ(TextIndex().find("a"), std::nullopt);
  EXPECT_EQ(TextIndex::build(Views{}).value().find(""), std::nullopt);
}

}  // namespace
}  // namespace plm
