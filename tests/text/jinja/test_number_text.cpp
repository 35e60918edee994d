#include "text/jinja/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace plm::jinja {
namespace {

TEST(NumberText, WholeNumbersAreReadAsPythonReadsThem) {
  EXPECT_EQ(integer_of(" -1_000 "), -1000);
  EXPECT_EQ(integer_of("+5"), 5);
  EXPECT_EQ(integer_of("ff", 16), 255);
  EXPECT_EQ(integer_of("0xFF", 16), 255);
  EXPECT_EQ(integer_of("0b101", 0), 5);
  EXPECT_EQ(integer_of("z", 36), 35);
  EXPECT_EQ(integer_of("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"", " ", "-", "1.0", "1__0", "_1", "1_", "--1", "0x1", "9223372036854775808", "1 2", "a"}) {
    EXPECT_EQ(integer_of(text), std::nullopt) << text;
  }
}

TEST(NumberText, RealNumbersAreReadAsPythonReadsThem) {
  EXPECT_EQ(real_of(" 1.5e3 "), 1500);
  EXPECT_EQ(real_of("-.5"), -0.5);
  EXPECT_EQ(real_of("5."), 5);
  EXPECT_EQ(real_of("1_0.5"), 10.5);
  EXPECT_TRUE(std::isinf(*real_of("-Infinity")) && std::isinf(*real_of("inf")) && std::isnan(*real_of("nan")));
  for (const char* text : {"", ".", "1e", "0x10", "1.5.5", "+-1", "x"}) EXPECT_EQ(real_of(text), std::nullopt) << text;
}

}  // namespace
}  // namespace plm::jinja
