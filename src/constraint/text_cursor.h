// Reads a grammar or an expression character by character and says where it is, for errors.
// Tested by tests/constraint/test_gbnf_parser.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/unicode_class.h"

namespace plm {

class TextCursor {
 public:
  /// `text` must be well-formed UTF-8.
  explicit TextCursor(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  /// The next byte, 0 at the end; `ahead` bytes further.
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool next_is(char byte) const { return !at_end() && text_[at_] == byte; }
  void skip(std::size_t bytes) { at_ += bytes; }
  bool take(char byte) {
    if (!next_is(byte)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  /// The next character; there must be one.
  char32_t take_character() {
    const Character next = character_at(text_, at_);
    at_ += next.bytes;
    return next.code;
  }
  /// A number of exactly `digits` hexadecimal digits.
  std::optional<char32_t> take_hex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char digit = peek(i);
      const bool decimal = digit >= '0' && digit <= '9';
      const bool letter = (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
      if (!decimal && !letter) return std::nullopt;
      value = value * 16 + static_cast<char32_t>(decimal ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    at_ += digits;
    return value;
  }
  /// Decimal digits, at most kMostNumber; nullopt where there is none.
  std::optional<std::uint64_t> take_number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    std::uint64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = value >= kMostNumber ? kMostNumber : value * 10 + static_cast<std::uint64_t>(peek() - '0');
    }
    return value;
  }
  static constexpr std::uint64_t kMostNumber = 1'000'000'000'000;

  /// "line 2, column 7" of byte `at`; columns count characters from 1.
  [[nodiscard]] std::string place(std::size_t at) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at; ++i) {
      if (text_[i] == '\n') {
        ++line, column = 1;
      } else if ((static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U) {
        ++column;
      }
    }
    return fmt::format("line {}, column {}", line, column);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace plm
