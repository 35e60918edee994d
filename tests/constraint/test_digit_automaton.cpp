#include "constraint/digit_automaton.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace plm {
namespace {

// Whether the automata of `step` accept `text`, all of them or any.
bool accepts(const char* step, bool multiple, const std::string& text) {
  RegularStore store;
  const auto automata = digit_automata(Decimal::parse(step).value(), multiple).value();
  const auto one = [&](const auto& states) { return store.matches(store.automaton(states), text); };
  return multiple ? std::ranges::all_of(automata, one) : std::ranges::any_of(automata, one);
}

TEST(DigitAutomaton, CountsRemaindersOfIntegersAndFractions) {
  for (const char* step : {"1", "7", "12", "0.5", "0.25", "1.5", "0.03", "600", "1e3"}) {
    for (int value = -2500; value <= 2500; value += 7) {
      for (const int places : {0, 1, 3}) {
        const Decimal number = Decimal(value).shifted(-places);
        std::string text = number.text();
        if (places == 3) text += number.is_integer() ? ".00" : "0";  // zeros at the end change nothing
        const bool wanted = number.is_multiple_of(Decimal::parse(step).value());
        ASSERT_EQ(accepts(step, true, text), wanted) << text << " " << step;
        ASSERT_EQ(accepts(step, false, text), !wanted) << text << " " << step;
      }
    }
  }
}

TEST(DigitAutomaton, LargeStepsAreSplitOrRefused) {
  EXPECT_TRUE(accepts("988027", true, "1976054"));  // 991 * 997
  EXPECT_FALSE(accepts("988027", true, "988028"));
  EXPECT_FALSE(digit_automata(Decimal(123457), true).has_value());
  EXPECT_FALSE(digit_automata(Decimal::parse("1e30").value(), true).has_value());
}

TEST(DigitAutomaton, IsARegularExpressionLikeOthers) {
  RegularStore store;
  const Regular sevens = store.automaton(digit_automata(Decimal(7), true)->front());
  const Regular two_digits = store.repeat(store.bytes(ByteSet::range('0', '9')), 2, 2);
  EXPECT_EQ(
      store.shortest_text(store.intersect({sevens, two_digits, store.complement(store.literal("00"))})).value().value(),
      "07");
  EXPECT_TRUE(store.is_nothing(store.intersect({sevens, store.literal("15")})).value());
}

}  // namespace
}  // namespace plm
