#include "constraint/decimal.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

Decimal number(const char* text) { return Decimal::parse(text).value(); }

TEST(Decimal, ReadsWhatJsonWritesAndNothingElse) {
  EXPECT_EQ(number("-12.500e1").text(), "-125");
  EXPECT_EQ(number("0.00120").text(), "0.0012");
  EXPECT_EQ(number("-0.0"), Decimal());
  EXPECT_EQ(number("1e-3").text(), "0.001");
  for (const char* wrong : {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "1 ", "NaN", "1e401", "1e-401"}) {
    EXPECT_FALSE(Decimal::parse(wrong).has_value()) << wrong;
  }
}

TEST(Decimal, ComparesByValue) {
  const char* rising[] = {"-1e10", "-2.5", "-2.45", "-0.001", "0", "0.0009", "0.001", "1", "1.01", "9", "10", "1e2"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t k = 0; k < std::size(rising); ++k) EXPECT_EQ(number(rising[i]) < number(rising[k]), i < k);
  }
}

TEST(Decimal, MultiplesAreExact) {
  EXPECT_TRUE(number("1.1").is_multiple_of(number("0.1")));
  EXPECT_TRUE(number("-4.02").is_multiple_of(number("0.01")));
  EXPECT_FALSE(number("0.35").is_multiple_of(number("0.1")));
  EXPECT_TRUE(number("1e300").is_multiple_of(number("0.5")));
  EXPECT_FALSE(number("1e300").is_multiple_of(number("7")));
  for (int value = -60; value <= 60; ++value) {
    for (int step = 1; step < 15; ++step) {
      EXPECT_EQ(Decimal(value).is_multiple_of(Decimal(step)), value % step == 0) << value << " " << step;
    }
  }
}

}  // namespace
}  // namespace plm
