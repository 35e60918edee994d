#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>

namespace plm {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return fail(ErrorKind::usage, "found '{}', expected a digit", c);
  return c - '0';
}

Result<int> sum_of_digits(std::string_view text) {
  int sum = 0;
  for (const char c : text) {
    PLM_TRY_ASSIGN(const int digit, parse_digit(c));
    PLM_TRY(parse_digit(c));  // for the error only
    sum += digit;
  }
  return sum;
}

Result<std::unique_ptr<int>> boxed(bool works) {
  if (!works) return fail(ErrorKind::no_room, "no box");
  return std::make_unique<int>(5);
}

Result<void> unbox(bool works, int& value) {
  std::unique_ptr<int> box;
  PLM_TRY_ASSIGN(box, boxed(works));  // moves, and assigns to what is already there
  value = *box;
  return {};
}

TEST(Error, TravelsUpWithItsKindAndMessage) {
  EXPECT_EQ(sum_of_digits("1234").value(), 10);
  const auto failed = sum_of_digits("12x4");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::usage);
  EXPECT_EQ(failed.error().message, "found 'x', expected a digit");
}

TEST(Error, CarriesMoveOnlyValues) {
  int value = 0;
  EXPECT_TRUE(unbox(true, value));
  EXPECT_EQ(value, 5);
  EXPECT_EQ(unbox(false, value).error().kind, ErrorKind::no_room);
}

TEST(Error, WithinPutsThePlaceInFront) {
  const Error inner{ErrorKind::bad_input, "2 bytes missing"};
  const Error outer = inner.within("tensor a").within("model.gguf");
  EXPECT_EQ(outer.message, "model.gguf: tensor a: 2 bytes missing");
  EXPECT_EQ(outer.kind, ErrorKind::bad_input);
}

TEST(Error, KindsAreTheExitCodes) {
  EXPECT_EQ(static_cast<int>(ErrorKind::failed), 1);
  EXPECT_EQ(static_cast<int>(ErrorKind::usage), 2);
  EXPECT_EQ(static_cast<int>(ErrorKind::bad_input), 3);
  EXPECT_EQ(static_cast<int>(ErrorKind::no_room), 4);
  EXPECT_EQ(static_cast<int>(ErrorKind::network), 5);
  EXPECT_EQ(static_cast<int>(ErrorKind::unsatisfiable), 6);
  EXPECT_EQ(static_cast<int>(ErrorKind::model_changed), 7);
  EXPECT_EQ(static_cast<int>(ErrorKind::interrupted), 130);
}

TEST(ErrorDeathTest, ABrokenInvariantIsLoud) {
  PLM_CHECK(1 + 1 == 2);
  EXPECT_DEATH(PLM_CHECK(1 + 1 == 3), "test_error.cpp:[0-9]+: broken invariant: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace plm
