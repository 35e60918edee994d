#include "decode/phrase_bans.h"

#include <gtest/gtest.h>

#include <cmath>

#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

const std::vector<float> kRow(kTinyVocabularySize, 1.0F);

PhraseBans bans_of(std::vector<std::string> phrases) {
  return PhraseBans::create(std::move(phrases), tiny_vocabulary()).value();
}

TEST(PhraseBans, HoldsTokensOnlyWhileTheyMayBecomeAPhrase) {
  PhraseBans bans = bans_of({"abc"});
  bans.push(kC, 3, kRow);
  EXPECT_EQ(bans.release(), 1U);
  bans.push(kA, 4, kRow);
  EXPECT_EQ(bans.release(), 0U);
  bans.push(kB, 5, kRow);
  EXPECT_EQ(bans.release(), 0U);
  bans.push(kB, 6, kRow);
  EXPECT_EQ(bans.release(), 3U);
  EXPECT_FALSE(bans.rewind()->has_value());
}

TEST(PhraseBans, TakesBackFromTheTokenInWhichThePhraseBegins) {
  PhraseBans bans = bans_of({"BCA"});
  std::vector<float> row = kRow;
  row[0] = 7;
  bans.push(kC, 3, kRow);
  bans.push(kAB, 4, row);  // the phrase begins inside this token
  bans.push(kC, 5, kRow);
  bans.push(kA, 6, kRow);
  const auto rewind = bans.rewind();
  ASSERT_TRUE(rewind.has_value() && rewind->has_value());
  EXPECT_EQ((*rewind)->position, 4U);
  EXPECT_EQ((*rewind)->logits, row);
  EXPECT_EQ(bans.release(), 1U) << "the token before it is free";
  const auto allowed = bans.allowed(row, 4);
  EXPECT_EQ(allowed[kAB], -HUGE_VALF);
  EXPECT_EQ(allowed[kA], 7);
  EXPECT_EQ(bans.allowed(row, 5).data(), row.data()) << "nothing is forbidden elsewhere";
}

TEST(PhraseBans, WhatWasForbiddenFartherOnIsForgottenWhenTheTextBeforeChanges) {
  PhraseBans bans = bans_of({"bb", "cab"});
  bans.push(kC, 0, kRow);
  bans.push(kA, 1, kRow);
  bans.push(kB, 2, kRow);  // "cab": c at 0 goes
  ASSERT_EQ((*bans.rewind())->position, 0U);
  bans.push(kB, 0, kRow);
  bans.push(kB, 1, kRow);  // "bb": the first b goes as well, and c stays forbidden
  ASSERT_EQ((*bans.rewind())->position, 0U);
  EXPECT_EQ(bans.allowed(kRow, 0)[kC], -HUGE_VALF);
  EXPECT_EQ(bans.allowed(kRow, 0)[kB], -HUGE_VALF);
}

TEST(PhraseBans, ACharacterOfTwoTokensIsForbiddenInItsSecond) {
  PhraseBans bans = bans_of({"\xC3\xA9"});
  bans.push(kByteC3, 0, kRow);
  EXPECT_EQ(bans.release(), 1U);
  bans.push(kByteA9, 1, kRow);
  EXPECT_EQ((*bans.rewind())->position, 1U);
}

TEST(PhraseBans, RefusesWhatIsNoPhrase) {
  EXPECT_FALSE(PhraseBans::create({""}, tiny_vocabulary()).has_value());
  EXPECT_FALSE(PhraseBans::create({"\xFF"}, tiny_vocabulary()).has_value());
  EXPECT_FALSE(PhraseBans::create(std::vector<std::string>(2000, "a"), tiny_vocabulary()).has_value());
}

TEST(PhraseBans, GivesUpATextThatIsTakenBackWithoutEnd) {
  PhraseBans bans = bans_of({"a"});
  for (std::size_t i = 0; i < PhraseBans::kMostRewinds; ++i) {
    bans.push(kA, 0, kRow);
    ASSERT_TRUE(bans.rewind().has_value());
  }
  bans.push(kA, 0, kRow);
  const auto rewind = bans.rewind();
  ASSERT_FALSE(rewind.has_value());
  EXPECT_EQ(rewind.error().kind, ErrorKind::unsatisfiable);
}

}  // namespace
}  // namespace plm
