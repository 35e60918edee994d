#include "text/token_spelling.h"

#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"

namespace plm {
namespace {

std::string in_alphabet(std::string_view bytes) {
  std::string out;
  append_in_byte_alphabet(bytes, out);
  return out;
}

std::string bytes_of(Spelling spelling, std::string_view text) {
  std::string out;
  append_spelled_bytes(spelling, text, out);
  return out;
}

TEST(TokenSpelling, TheByteAlphabetHasOnePrintableCharacterForEachByte) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const std::string character = in_alphabet(one);
    EXPECT_EQ(utf8_character_length(character), character.size()) << byte;
    EXPECT_EQ(printable(character), character) << byte;
    EXPECT_NE(character, " ");
    EXPECT_EQ(bytes_of(Spelling::byte_alphabet, character), one) << byte;
    characters.insert(character);
  }
  EXPECT_EQ(characters.size(), 256U);
}

TEST(TokenSpelling, TheByteAlphabetIsGpt2s) {
  EXPECT_EQ(in_alphabet("a b\n"), "aĠbĊ");
  EXPECT_EQ(in_alphabet(std::string_view("\0\x7F\xA0\xAD\xFF", 5)), "ĀġłŃÿ");
  EXPECT_EQ(bytes_of(Spelling::byte_alphabet, "Ã©"), "é");
}

TEST(TokenSpelling, CharactersOutsideTheAlphabetStayAsTheyAre) {
  for (const std::string_view text : {"中", "\u0144", "\u017F", "<｜fim▁end｜>", "\xC4", "\xFF"}) {
    EXPECT_EQ(bytes_of(Spelling::byte_alphabet, text), text);
  }
}

TEST(TokenSpelling, SpaceMarksAreSpaces) {
  EXPECT_EQ(bytes_of(Spelling::space_marks, "▁a▁▁b▁"), " a  b ");
  EXPECT_EQ(bytes_of(Spelling::space_marks, ""), "");
  EXPECT_EQ(bytes_of(Spelling::space_marks, "Ġ"), "Ġ");
  EXPECT_EQ(bytes_of(Spelling::plain, "▁Ġ"), "▁Ġ");
}

TEST(TokenSpelling, AHexTokenHasExactlyTwoDigits) {
  EXPECT_EQ(byte_of_hex_token("<0x00>"), 0);
  EXPECT_EQ(byte_of_hex_token("<0x0A>"), 10);
  EXPECT_EQ(byte_of_hex_token("<0xfF>"), 255);
  for (const std::string_view text :
       {"<0xZZ>", "<0x-1>", "<0x1>", "<0x100>", "<0X0A>", "0x0A", "<0x0A", "<0x+1>", "<0x 1>", ""}) {
    EXPECT_EQ(byte_of_hex_token(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plm
