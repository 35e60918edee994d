// What kind of character a code point is (Unicode Character Database, by utf8proc), as pre-tokenisers ask.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <utf8proc.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plm {

/// One character of well-formed UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};

/// The character at byte `at`, which must be the start of one.
[[nodiscard]] inline Character character_at(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data()) + at;
  const auto more = [bytes](std::size_t i) { return static_cast<char32_t>(bytes[i] & 0x3FU); };
  const char32_t lead = bytes[0];
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1FU) << 6 | more(1), 2};
  if (lead < 0xF0) return {(lead & 0x0FU) << 12 | more(1) << 6 | more(2), 3};
  return {(lead & 0x07U) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4};
}

/// The same for the character that ends before byte `end` > 0.
[[nodiscard]] inline Character character_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return character_at(text, begin);
}

void append_character(char32_t code, std::string& out);

/// First letter of the general category: 'L' letter, 'M' mark, 'N' number, 'P' punctuation, 'S' symbol,
/// 'Z' separator, 'C' other.
[[nodiscard]] char general_category(char32_t code);

[[nodiscard]] inline bool is_letter(char32_t code) {
  if (code < 0x80) return (code | 0x20U) >= U'a' && (code | 0x20U) <= U'z';
  return general_category(code) == 'L';
}
[[nodiscard]] inline bool is_number(char32_t code) {
  if (code < 0x80) return code >= U'0' && code <= U'9';
  return general_category(code) == 'N';
}
/// Unicode's White_Space, which is what \s means in the expressions of tokenisers.
[[nodiscard]] bool is_white_space(char32_t code);
/// Letters, marks, decimal digits, connectors: what \w means.
[[nodiscard]] bool is_word_character(char32_t code);
/// General category P, or one of the ASCII symbols, which BERT counts as punctuation as well.
[[nodiscard]] bool is_bert_punctuation(char32_t code);
/// General category Mn: accents and other marks without a width.
[[nodiscard]] bool is_nonspacing_mark(char32_t code);

}  // namespace plm
