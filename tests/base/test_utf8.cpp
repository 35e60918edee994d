#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plm {
namespace {

// Encodes any number up to 21 bits, surrogates and too large ones included.
std::string encoded(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

TEST(Utf8, EveryCodePointIsJudged) {
  for (std::uint32_t code = 0; code < 0x140000; ++code) {
    const std::string text = encoded(code);
    const bool is_character = code < 0x110000 && !(code >= 0xD800 && code < 0xE000);
    ASSERT_EQ(utf8_character_length(text + "x"), is_character ? text.size() : 0) << std::hex << code;
    ASSERT_EQ(utf8_is_valid(text), is_character) << std::hex << code;
  }
}

// Long texts are judged in another way than short ones.
TEST(Utf8, LongTextsAreJudgedAsShortOnes) {
  for (const std::size_t before : {0U, 50U, 100U}) {
    const std::string left(before, 'a'), right(100 - before, 'b');
    for (std::uint32_t code = 0; code < 0x140000; code += code < 0x1000 ? 1 : 61) {
      const std::string text = encoded(code);
      const bool is_character = code < 0x110000 && !(code >= 0xD800 && code < 0xE000);
      ASSERT_EQ(utf8_is_valid(left + text + right), is_character) << std::hex << code;
      ASSERT_EQ(utf8_is_valid(left + text.substr(0, text.size() - 1) + right), text.size() == 1) << std::hex << code;
      ASSERT_EQ(utf8_is_valid(left + text.substr(1) + right), text.size() == 1) << std::hex << code;
    }
    for (std::uint32_t bytes = 0; bytes < 0x10000; ++bytes) {
      const std::string text = left + static_cast<char>(0xE0 | bytes >> 12) + static_cast<char>(bytes >> 4) +
                               static_cast<char>(bytes) + right;
      ASSERT_EQ(utf8_is_valid(text), utf8_valid_prefix(text) == text.size()) << std::hex << bytes;
    }
  }
}

TEST(Utf8, IllFormedBytes) {
  for (const char* text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF5\x80\x80\x80",
                           "\xFF", "\xE2\x82", "\xC3(", "\xE2(\xA1", "\xF0\x9F\x98"}) {
    EXPECT_EQ(utf8_character_length(text), 0U) << text;
    EXPECT_FALSE(utf8_is_valid(text)) << text;
  }
  EXPECT_EQ(utf8_character_length(""), 0U);
  EXPECT_TRUE(utf8_is_valid(""));
  EXPECT_TRUE(utf8_is_valid(std::string_view("a\0b", 3)));
}

TEST(Utf8, IncompleteMeansMoreBytesCouldHelp) {
  for (const char* text : {"\xC3", "\xE2", "\xE2\x82", "\xF0\x9F", "\xF0\x9F\x98"}) {
    EXPECT_TRUE(utf8_is_incomplete(text)) << text;
  }
  for (const char* text : {"", "a", "\x80", "\xFF", "\xC0", "\xE0\x80", "\xED\xA0", "\xC3\xA9", "\xC3(", "\xF4\x90"}) {
    EXPECT_FALSE(utf8_is_incomplete(text)) << text;
  }
}

TEST(Utf8, SanitizedReplacesMaximalIllFormedParts) {
  EXPECT_EQ(utf8_sanitized("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(utf8_sanitized("a\xE2\x82z"), "a\xEF\xBF\xBDz");  // one for the part that could have become a character
  EXPECT_EQ(utf8_sanitized("\xE0\x80\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // one for each impossible byte
  // The example of the Unicode standard, table 3-11.
  EXPECT_EQ(utf8_sanitized("a\xF1\x80\x80\xE1\x80\xC2"
                           "b\x80"
                           "c\x80\xBF"
                           "d"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD"
            "c\xEF\xBF\xBD\xEF\xBF\xBD"
            "d");
}

TEST(Utf8, PrintableIsHarmlessAndOneLine) {
  EXPECT_EQ(printable("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1B[31m\x07\x7F"), "\\x1b[31m\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"), "\\u009b");  // a control character that terminals obey
  EXPECT_EQ(printable("\xFF\xC3"), "\\xff\\xc3");
}

TEST(Utf8, PrintableCutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("\xC3\xA9\xC3\xA9", 1), "\xC3\xA9...");
  EXPECT_EQ(printable("abc", 0), "...");
}

}  // namespace
}  // namespace plm
