#include "constraint/json_schema_number.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::GrammarOracle;

// Every plain decimal around the bounds, against exact comparison.
TEST(JsonSchemaNumber, BoundsAreExactDecimals) {
  const std::vector<const char*> bounds = {"-10.5", "-10", "-9.99", "-0.5", "-0.05", "0",  "0.05",
                                           "0.7",   "1",   "9.5",   "10",   "99.99", "100"};
  for (const char* low : bounds) {
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      auto grammar = json_schema_grammar(fmt::format(R"({{"type": "number", "{}": {}}})", keyword, low)).value();
      GrammarOracle oracle(grammar);
      const Decimal bound = Decimal::parse(low).value();
      for (int value = -1105; value <= 1105; value += 5) {
        for (const int places : {0, 1, 2}) {
          const Decimal number = Decimal(value).shifted(-places);
          const std::string text = number.text();
          const auto order = number <=> bound;
          const bool wanted = keyword == std::string("minimum")            ? order >= 0
                              : keyword == std::string("exclusiveMinimum") ? order > 0
                              : keyword == std::string("maximum")          ? order <= 0
                                                                           : order < 0;
          ASSERT_EQ(oracle.accepts(text), wanted) << text << " " << keyword << " " << low;
          const std::string longer = text + (number.is_integer() ? ".0" : "0");
          ASSERT_EQ(oracle.accepts(longer), wanted) << longer << " " << keyword << " " << low;
        }
      }
    }
  }
}

TEST(JsonSchemaNumber, IntegersInRangesAndMultiples) {
  for (const auto& [low, high, step] :
       std::vector<std::array<int, 3>>{{-12, 215, 1}, {3, 20, 5}, {-100, -1, 7}, {0, 0, 3}, {95, 105, 1}}) {
    auto grammar =
        json_schema_grammar(
            fmt::format(R"({{"type": "integer", "minimum": {}, "maximum": {}, "multipleOf": {}}})", low, high, step))
            .value();
    GrammarOracle oracle(grammar);
    for (int value = -300; value <= 300; ++value) {
      ASSERT_EQ(oracle.accepts(std::to_string(value)), value >= low && value <= high && value % step == 0) << value;
    }
  }
}

TEST(JsonSchemaNumber, ListsFiniteSets) {
  NumberRule rule{.lower = NumberRule::Bound{Decimal(-2), false},
                  .upper = NumberRule::Bound{Decimal(3), true},
                  .excluded = {Decimal(1)}};
  const auto listed = SchemaNumbers::listed(rule, kInteger, 10).value();
  EXPECT_EQ(listed, (std::vector<Decimal>{Decimal(-2), Decimal(-1), Decimal(0), Decimal(2)}));
  EXPECT_FALSE(SchemaNumbers::listed(rule, kNumber, 10).has_value());
  EXPECT_FALSE(SchemaNumbers::listed({}, kInteger, 10).has_value());
}

}  // namespace
}  // namespace plm
