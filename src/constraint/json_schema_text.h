// JSON as text, as far as the engine writes it: white space, characters of strings and their escapes, literals.
//
// Two ways to write a string. Free: every character raw or with any escape that stands for it (a surrogate pair is one
// character, a lone surrogate none). Canonical: raw, with an escape only where JSON asks for one; then every value has
// one spelling, up to the case of hexadecimal digits, and what is said about values (patterns, exclusions, names) can
// be said about texts, complements included. Tested by tests/constraint/test_json_schema_string.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/code_points.h"
#include "constraint/grammar.h"
#include "constraint/regular.h"

namespace plm {

/// Where white space may stand between the parts of arrays and objects. Never before or after the whole text.
enum class JsonSpace : std::uint8_t {
  compact,  ///< nowhere
  spaced,   ///< one space after "," and ":", as Python's json.dumps writes
  bounded,  ///< anywhere: one space, or one line feed and at most 20 spaces or tabs
  any,      ///< anywhere, any amount
};

class JsonText {
 public:
  JsonText(GrammarBuilder& builder, JsonSpace space);

  /// White space around a part: before "," and "]", after "[" ...
  [[nodiscard]] Regular space() const { return space_; }
  /// "," and ":" with the white space around them.
  [[nodiscard]] Regular comma() const { return comma_; }
  [[nodiscard]] Regular colon() const { return colon_; }
  /// "[" or "{" with the space after it; "]" or "}" with the space before it.
  [[nodiscard]] Regular open(char bracket);
  [[nodiscard]] Regular close(char bracket);
  /// "[]" or "{}", with space inside where it is allowed.
  [[nodiscard]] Regular hollow(std::string_view brackets);

  /// One character of `set` in the canonical spelling.
  [[nodiscard]] Regular canonical(const CodePoints& set);
  [[nodiscard]] Regular any_canonical() const { return any_canonical_; }
  /// One character in any spelling.
  [[nodiscard]] Regular any_free();
  /// `inner` between quotation marks.
  [[nodiscard]] Regular quoted(Regular inner);
  /// The strings of `texts` (values) in canonical spelling, without quotation marks.
  [[nodiscard]] Regular canonical_texts(const std::vector<std::string>& texts);

  [[nodiscard]] RegularStore& store() { return store_; }

 private:
  RegularStore& store_;
  Regular space_, comma_, colon_, any_canonical_;
  Regular any_free_ = Regular::nothing;
};

/// `text` as it stands between quotation marks in canonical spelling.
[[nodiscard]] std::string canonical_text(std::string_view text);

}  // namespace plm
