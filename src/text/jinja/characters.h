// Characters of UTF-8 texts as the template language counts and classifies them: by code points, as Python does.
// A byte that is no part of a well-formed character counts as one character of its own.
// Tested by tests/text/jinja/test_characters.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plm::jinja {

/// One character of a text: its code point (U+FFFD for an ill-formed byte) and its bytes.
struct Character {
  char32_t code;
  std::size_t begin, length;
  [[nodiscard]] std::size_t end() const { return begin + length; }
};

/// The character that starts at byte `at`, which is less than the size.
[[nodiscard]] Character character_at(std::string_view text, std::size_t at);

/// for (const Character c : Characters(text)) ...
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {}
  class Iterator {
   public:
    Iterator(std::string_view text, std::size_t at) : text_(text), at_(at) {}
    Character operator*() const { return character_at(text_, at_); }
    Iterator& operator++() {
      at_ += character_at(text_, at_).length;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    std::string_view text_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {text_, 0}; }
  [[nodiscard]] Iterator end() const { return {text_, text_.size()}; }

 private:
  std::string_view text_;
};

[[nodiscard]] std::size_t count_characters(std::string_view text);
/// The byte where character `index` starts, or the size when there are not as many.
[[nodiscard]] std::size_t byte_of_character(std::string_view text, std::size_t index);
/// Where each character starts, and the size at the end.
[[nodiscard]] std::vector<std::size_t> character_starts(std::string_view text);

void append_utf8(std::string& text, char32_t code);

// Python's classes of characters.
[[nodiscard]] bool is_space(char32_t code);
[[nodiscard]] bool is_alphabetic(char32_t code);
[[nodiscard]] bool is_decimal(char32_t code);
[[nodiscard]] bool is_digit(char32_t code);
[[nodiscard]] bool is_numeric(char32_t code);
[[nodiscard]] bool is_upper(char32_t code);
[[nodiscard]] bool is_lower(char32_t code);
[[nodiscard]] bool is_printable(char32_t code);
/// Part of a word for regular expressions and for names: letters, digits, underscore.
[[nodiscard]] bool is_word(char32_t code);

// A character's other case appended to `text`; it may be several characters (the sharp s).
void append_upper(std::string& text, char32_t code);
void append_lower(std::string& text, char32_t code);
void append_title(std::string& text, char32_t code);
void append_folded(std::string& text, char32_t code);

/// Where `needle` occurs first in `text` at or after byte `from`, or npos. Linear, whatever the texts.
[[nodiscard]] std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from = 0);
/// Where `needle` occurs last, or npos. Linear.
[[nodiscard]] std::size_t find_last_text(std::string_view text, std::string_view needle);

}  // namespace plm::jinja
