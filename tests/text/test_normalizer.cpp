#include "text/normalizer.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

std::string run(const NormalizerStep& step, std::string_view text) { return step(text).value(); }

TEST(Normalizer, StepsOfTextDoWhatTheyAreCalled) {
  EXPECT_EQ(run(lower_case_step(), "ÀB\u0130ß"), "àbi\u0307ß");
  EXPECT_EQ(run(strip_marks_step(), "e\u0301\u0903x"), "ex");
  EXPECT_EQ(run(prepend_text_step("_"), "a"), "_a");
  EXPECT_EQ(run(prepend_text_step("_"), ""), "");
  EXPECT_EQ(run(replace_text_step("ab", "c"), "abab a"), "cc a");
  EXPECT_EQ(run(replace_text_step("", "c"), "ab"), "ab");
  EXPECT_EQ(run(strip_spaces_step(true, false), "\u00A0 a "), "a ");
  EXPECT_EQ(run(strip_spaces_step(false, true), " a\u3000\n"), " a");
  EXPECT_EQ(run(strip_spaces_step(true, true), " \n "), "");
  EXPECT_EQ(run(byte_alphabet_step(), " é"), "ĠÃ©");
  EXPECT_EQ(run(nmt_step(), "a\u200B\x01\t\uFFFD\u00ADb"), "a   \u00ADb");
  EXPECT_EQ(run(unicode_form_step(UnicodeForm::nfkc), "\uFB01²"), "fi2");
  EXPECT_EQ(run(unicode_form_step(UnicodeForm::nfd), "é"), "e\u0301");
}

TEST(Normalizer, PatternsReplaceEveryMatch) {
  const auto spaces = replace_pattern_step(Pattern::compile(" {2,}").value(), " ");
  EXPECT_EQ(run(spaces, "a  b   c d"), "a b c d");
  const auto everywhere = replace_pattern_step(Pattern::compile("x*").value(), "-");
  EXPECT_EQ(run(everywhere, "é"), "-é-");
}

TEST(Normalizer, BertCleansAsPublished) {
  EXPECT_EQ(run(bert_step({}), "H\u00E9llo\tW\u200D\x7F中!"), "hello w 中 !");
  EXPECT_EQ(run(bert_step({.strips_accents = false, .lower_case = false}), "É"), "É");
  EXPECT_EQ(run(bert_step({.cleans = false, .spaces_chinese = false}), "A\t中"), "a\t中");
}

TEST(Normalizer, SpacesBecomeMarks) {
  EXPECT_EQ(run(space_marks_step({.prepends = true, .merges = true}), "  a  b "), "▁a▁b");
  EXPECT_EQ(run(space_marks_step({.prepends = false, .merges = false}), " a  b "), "▁a▁▁b▁");
  EXPECT_EQ(run(space_marks_step({.prepends = true, .merges = false}), "a"), "▁a");
  EXPECT_EQ(run(space_marks_step({.prepends = true, .merges = false}), " a"), "▁▁a");
  EXPECT_EQ(run(space_marks_step({.prepends = false, .merges = true}), " a  b "), "a▁b");
  EXPECT_EQ(run(space_marks_step({}), ""), "");
}

TEST(Normalizer, StepsFollowOneAnother) {
  Normalizer normalizer;
  EXPECT_TRUE(normalizer.is_identity());
  EXPECT_EQ(normalizer.apply("É").value(), "É");
  normalizer.add(unicode_form_step(UnicodeForm::nfd));
  normalizer.add(strip_marks_step());
  normalizer.add(lower_case_step());
  EXPECT_FALSE(normalizer.is_identity());
  EXPECT_EQ(normalizer.apply("É").value(), "e");
}

// A pattern that exceeds its limits is an error, not a wait.
TEST(Normalizer, LimitsHold) {
  const auto hostile = replace_pattern_step(Pattern::compile("(a+)+$").value(), "");
  EXPECT_FALSE(hostile(std::string(60, 'a') + 'b').has_value());
}

}  // namespace
}  // namespace plm
