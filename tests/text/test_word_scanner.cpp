#include "text/word_scanner.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "text/pre_tokenizer.h"

namespace plm {
namespace {

// What the expressions themselves make of the text.
std::vector<std::string_view> by_expressions(std::span<const std::string_view> expressions, std::string_view text) {
  Pieces pieces(text);
  for (const std::string_view expression : expressions) {
    auto pattern = std::make_shared<const Pattern>(Pattern::compile(expression).value());
    EXPECT_TRUE(split(pieces, find_pattern(std::move(pattern)), SplitBehavior::isolated).has_value());
  }
  return pieces.list();
}

std::vector<std::string_view> by_scanner(WordScanner scan, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = scan(text, at);
    pieces.push_back(text.substr(at, end - at));
    if (end <= at) break;  // the comparison fails
    at = end;
  }
  return pieces;
}

// Characters that the expressions tell apart, and some that look alike: letters, marks, digits, spaces, symbols.
constexpr std::string_view kCharacters[] = {
    "a",      "S",      "t",      "'",      "'",      "r", "e", "v", "L", "l",  "M",  "d",   "ſ",    "é",
    "中",     "א",      "1",      "٣",      "²",      "Ⅷ", " ", " ", " ", "\t", "\n", "\r",  "\r\n", "\u00A0",
    "\u3000", "\u180E", "\u0301", "\u0903", "\u200D", ".", "(", "_", "€", "😀", "/",  "\x0B"};

TEST(WordScanner, CutsAsItsExpressionsDo) {
  for (const std::string_view name : {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "gemma4"}) {
    const PreTokenizerRow* row = find_pre_tokenizer(name);
    ASSERT_NE(row->scanner, nullptr) << name;
    for (std::uint32_t round = 0; round < 3000; ++round) {
      std::string text;
      for (std::uint32_t i = 0; i <= round % 24; ++i) {
        text += kCharacters[philox4x32({round, i, 0, 0}, {11, 0})[0] % std::size(kCharacters)];
      }
      ASSERT_EQ(by_scanner(row->scanner, text), by_expressions(row->expressions, text)) << name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace plm
