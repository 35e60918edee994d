#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace plm {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  Strings deltas;
  std::string text;
  std::optional<std::string> stop;
};

Outcome run(const Strings& stops, const Strings& pieces) {
  StopMatcher matcher = StopMatcher::create(stops).value();
  Outcome outcome;
  for (const std::string& piece : pieces) {
    if (matcher.matched()) break;
    outcome.deltas.push_back(matcher.push(piece));
    outcome.text += outcome.deltas.back();
  }
  outcome.text += matcher.finish();
  if (matcher.matched()) outcome.stop = std::string(*matcher.matched());
  return outcome;
}

// The rule, on the whole text: the first end of a stop string; of several there the longest.
std::pair<std::string, std::optional<std::string>> naive(const Strings& stops, std::string_view text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::string> longest;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && (!longest || stop.size() > longest->size())) longest = stop;
    }
    if (longest) return {std::string(text.substr(0, end - longest->size())), longest};
  }
  return {std::string(text), std::nullopt};
}

// The public reports STP-01 to STP-03 of the conformance cases.
TEST(StopMatcher, NothingOfAStopStringIsEverSent) {
  const auto outcome = run({"DEFGHIJ"}, {"DEF", "G", "HI", "J", "K"});
  EXPECT_EQ(outcome.deltas, (Strings{"", "", "", ""}));
  EXPECT_EQ(outcome.text, "");
}

TEST(StopMatcher, AStopStringMayBeSplitOverPieces) {
  const auto outcome = run({"\nUser:"}, {"hello\nUser", ":"});
  EXPECT_EQ(outcome.deltas, (Strings{"hello", ""}));
  EXPECT_EQ(outcome.text, "hello");
  EXPECT_EQ(run({"O P Q"}, {" L", " M", " N", " O", " P", " Q", " R"}).text, " L M N ");
}

TEST(StopMatcher, TextWaitsOnlyWhileItMayBecomeAStopString) {
  EXPECT_EQ(run({"abc"}, {"xa", "b", "d", "ab"}).deltas, (Strings{"x", "", "abd", ""}));
  EXPECT_EQ(run({"abc"}, {"xa", "b", "d", "ab"}).text, "xabdab") << "the end hands out what waited";
  EXPECT_EQ(run({"aab"}, {"aaa", "a"}).deltas, (Strings{"a", "a"})) << "only two of them can begin a stop string";
  EXPECT_EQ(run({}, {"a", "b"}).deltas, (Strings{"a", "b"}));
}

TEST(StopMatcher, TheFirstCompleteOneEndsTheText) {
  EXPECT_EQ(run({"abcd", "bc"}, {"xabcd"}).text, "xa");
  EXPECT_EQ(*run({"abcd", "bc"}, {"xabcd"}).stop, "bc");
  EXPECT_EQ(*run({"c", "bc"}, {"abc"}).stop, "bc") << "complete at the same place: the longest";
}

TEST(StopMatcher, AfterAMatchNothingComes) {
  StopMatcher matcher = StopMatcher::create({"s"}).value();
  EXPECT_EQ(matcher.push("as..."), "a");
  EXPECT_EQ(matcher.push("b"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, RefusesStopStringsThatCannotStop) {
  EXPECT_EQ(StopMatcher::create({"a", ""}).error().kind, ErrorKind::usage);
  EXPECT_NE(StopMatcher::create({"\xFF"}).error().message.find("stop string '\\xff' is not UTF-8"), std::string::npos);
}

TEST(StopMatcher, TheCutDoesNotMatter) {
  std::uint32_t draw = 0;
  const auto random = [&draw](std::uint32_t limit) { return philox4x32({draw++, 0, 0, 0}, {11, 0})[0] % limit; };
  const auto random_text = [&](std::uint32_t least, std::uint32_t most) {
    std::string text;
    for (std::uint32_t length = least + random(most - least + 1); length > 0; --length)
      text += random(2) == 0 ? "a" : "é";
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    Strings stops;
    for (std::uint32_t count = 1 + random(3); count > 0; --count) stops.push_back(random_text(1, 5));
    Strings pieces;
    std::string whole;
    for (int i = 0; i < 8; ++i) whole += pieces.emplace_back(random_text(0, 4));
    const Outcome outcome = run(stops, pieces);
    const auto [text, stop] = naive(stops, whole);
    EXPECT_EQ(outcome.text, text) << whole;
    EXPECT_EQ(outcome.stop, stop) << whole;
  }
}

}  // namespace
}  // namespace plm
