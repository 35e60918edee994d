#include "decode/text_stream.h"

#include <gtest/gtest.h>

#include "decode/tiny_vocabulary.h"

namespace plm {
namespace {

TextStream stream(std::vector<std::string> stops = {}) {
  return TextStream(tiny_vocabulary(), StopMatcher::create(std::move(stops)).value());
}

TEST(TextStream, ShowsWholeCharactersOnly) {
  TextStream text = stream();
  EXPECT_EQ(text.push(kA), "a");
  EXPECT_EQ(text.push(kByteC3), "");
  EXPECT_EQ(text.push(kByteA9), "é");
  EXPECT_EQ(text.push(kEnd), "") << "a control token is no text";
  EXPECT_EQ(text.push(kByteC3), "");
  EXPECT_EQ(text.finish(), "\xEF\xBF\xBD") << "half a character is shown as U+FFFD at the end";
}

TEST(TextStream, StopsWhereverTheTokensCutTheStopString) {
  TextStream text = stream({"bca"});
  EXPECT_EQ(text.push(kAB), "a");
  EXPECT_EQ(text.push(kC), "") << "may still become a stop string";
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(text.push(kC), "bcc") << "did not";
  EXPECT_EQ(text.push(kBC), "");
  EXPECT_EQ(text.push(kAB), "") << "the stop string and what follows in the same token are not shown";
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.finish(), "");
}

TEST(TextStream, AStopStringMayLieInsideATokenOrEndInACharacterOfTwo) {
  TextStream inside = stream({"b"});
  EXPECT_EQ(inside.push(kAB), "a");
  EXPECT_TRUE(inside.stopped());

  TextStream split = stream({"cé"});
  EXPECT_EQ(split.push(kA), "a");
  EXPECT_EQ(split.push(kC), "");
  EXPECT_EQ(split.push(kByteC3), "");
  EXPECT_FALSE(split.stopped());
  EXPECT_EQ(split.push(kByteA9), "");
  EXPECT_TRUE(split.stopped());
}

TEST(TextStream, WhatWasHeldBackComesAtTheEnd) {
  TextStream text = stream({"abcabc"});
  EXPECT_EQ(text.push(kAB), "");
  EXPECT_EQ(text.push(kC), "");
  EXPECT_EQ(text.finish(), "abc");
  EXPECT_FALSE(text.stopped());
}

}  // namespace
}  // namespace plm
