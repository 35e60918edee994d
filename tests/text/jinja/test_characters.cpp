#include "text/jinja/characters.h"

#include <gtest/gtest.h>

namespace plm::jinja {
namespace {

TEST(Characters, AreCodePointsAndIllFormedBytesCountAlone) {
  EXPECT_EQ(count_characters("aé漢😀"), 4U);
  EXPECT_EQ(count_characters("a\xFF\xE6\x98"), 4U);
  EXPECT_EQ(character_at("é", 0).code, 0xE9U);
  EXPECT_EQ(character_at("漢", 0).code, 0x6F22U);
  EXPECT_EQ(character_at("😀", 0).code, 0x1F600U);
  EXPECT_EQ(character_at("\xC3", 0).length, 1U);
  EXPECT_EQ(byte_of_character("aé漢", 2), 3U);
  EXPECT_EQ(byte_of_character("aé漢", 9), 6U);
  EXPECT_EQ(character_starts("aé漢"), (std::vector<std::size_t>{0, 1, 3, 6}));
}

TEST(Characters, EveryCodePointSurvivesEncoding) {
  for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 977) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, code);
    const Character character = character_at(text, 0);
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.length, text.size());
  }
  std::string surrogate;
  append_utf8(surrogate, 0xD800);
  EXPECT_EQ(surrogate, "\xEF\xBF\xBD");
}

TEST(Characters, HaveClasses) {
  EXPECT_TRUE(is_space(' ') && is_space(0xA0) && is_space(0x3000) && is_space(0x1F) && !is_space(0x200B));
  EXPECT_TRUE(is_alphabetic(U'é') && is_alphabetic(U'漢') && !is_alphabetic('1') && !is_alphabetic('_'));
  EXPECT_TRUE(is_digit('7') && is_digit(0xB2) && !is_digit(0xBD) && is_numeric(0xBD) && !is_decimal(0xB2));
  EXPECT_TRUE(is_printable('~') && !is_printable(0x7F) && !is_printable(0x200B) && is_printable(U'漢'));
  EXPECT_TRUE(is_word('_') && is_word(U'é') && is_word('0') && !is_word('-'));
}

TEST(Characters, ChangeCaseToSeveralWhereUnicodeSaysSo) {
  std::string text;
  append_upper(text, 0xDF);
  append_title(text, 0xFB01);
  append_lower(text, U'Ä');
  append_folded(text, 0xDF);
  EXPECT_EQ(text, "SSFiäss");
}

TEST(Characters, FindIsLinearAndExact) {
  const std::string text(1U << 20, 'a');
  const std::string needle = std::string(1U << 19, 'a') + "b";
  EXPECT_EQ(find_text(text, needle), std::string::npos);
  EXPECT_EQ(find_last_text(text, needle), std::string::npos);
  EXPECT_EQ(find_text("abcabc", "bc", 2), 4U);
  EXPECT_EQ(find_text("abc", "", 3), 3U);
  EXPECT_EQ(find_text("abc", "", 4), std::string::npos);
  EXPECT_EQ(find_last_text("abcabc", "bc"), 4U);
  EXPECT_EQ(find_last_text("abc", ""), 3U);
}

}  // namespace
}  // namespace plm::jinja
