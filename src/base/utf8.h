// Validity of UTF-8 and safe printing of strings that a stranger wrote.
// Tested by tests/base/test_utf8.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plm {

/// Length in bytes of the well-formed UTF-8 character at the start of `text`; 0 when there is none
/// (empty, malformed, overlong, surrogate, above U+10FFFF, or cut off).
[[nodiscard]] std::size_t utf8_character_length(std::string_view text);

/// Whether `text` could become a well-formed character when more bytes follow.
[[nodiscard]] bool utf8_is_incomplete(std::string_view text);

/// How many bytes at the start of `text` are well-formed characters.
[[nodiscard]] std::size_t utf8_valid_prefix(std::string_view text);

[[nodiscard]] bool utf8_is_valid(std::string_view text);

/// `text` with every byte that is no part of a character replaced by U+FFFD (one per maximal ill-formed part, as
/// Unicode's "substitution of maximal subparts").
[[nodiscard]] std::string utf8_sanitized(std::string_view text);

/// `text` fit for a terminal and for one line: control characters and ill-formed bytes become \n, \t, \x1b ...,
/// and what is longer than `limit` bytes is cut with "...".
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace plm
