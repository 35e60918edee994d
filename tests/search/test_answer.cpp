#include "search/answer.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

using Form = AnswerForm;

TEST(Answer, NumbersHaveOneSpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"42", "42"},          {"042", "42"},   {"-3.50", "-3.5"}, {"1,234,567", "1234567"},
      {"$1,200.00", "1200"}, {" +7 ", "7"},   {".5", "0.5"},     {"-0", "0"},
      {"-0.0", "0"},         {"0.10", "0.1"}, {"-$3", "-3"},     {"100", "100"},
      {"1000.0", "1000"}};
  for (const auto& [text, number] : cases) EXPECT_EQ(canonical_number(text), number) << text;
  for (const char* text : {"", "-", "abc", "1,23", "4x", "1.2.3", "."}) {
    EXPECT_EQ(canonical_number(text), std::nullopt) << text;
  }
}

TEST(Answer, TheLastNumberCounts) {
  const std::pair<const char*, const char*> cases[] = {
      {"3 + 4 = 7.", "7"}, {"so 12-5 is 7", "7"}, {"it fell by -3", "-3"},
      {"(x-3)", "3"},      {"5-3", "3"},          {"about 1,200 people", "1200"},
      {"1, 2, 3", "3"},    {"v1.2.3", "0.3"},     {"is $18.50!", "18.5"}};
  for (const auto& [text, number] : cases) EXPECT_EQ(answer_of(text, Form::number), number) << text;
  EXPECT_EQ(answer_of("none", Form::number), std::nullopt);
}

TEST(Answer, ALetterThatStandsAloneIsAChoice) {
  EXPECT_EQ(answer_of("The answer is (B).", Form::choice), "B");
  EXPECT_EQ(answer_of("A or C? **C**", Form::choice), "C");
  EXPECT_EQ(answer_of("B. A cat", Form::choice), "B");
  EXPECT_EQ(answer_of("I think D", Form::choice), "D");
  EXPECT_EQ(answer_of("CAT", Form::choice), std::nullopt);
}

TEST(Answer, BoxesLinesAndTexts) {
  EXPECT_EQ(answer_of("so \\boxed{3} or \\boxed{\\frac{1}{2}}", Form::boxed), "\\frac{1}{2}");
  EXPECT_EQ(answer_of("\\boxed{1,000}", Form::boxed), "1000");
  EXPECT_EQ(answer_of("\\boxed{never closed", Form::boxed), std::nullopt);
  EXPECT_EQ(answer_of("first\n  second \n\n", Form::line), "second");
  EXPECT_EQ(answer_of("  all of it\n", Form::text), "all of it");
  EXPECT_EQ(answer_of(" \n", Form::text), std::nullopt);
  EXPECT_EQ(find_answer_form("boxed"), Form::boxed);
  EXPECT_EQ(find_answer_form("none"), std::nullopt);
}

}  // namespace
}  // namespace plm
