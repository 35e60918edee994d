// A regular expression of a tokeniser, compiled: PCRE2 with Unicode properties, just-in-time compiled where the machine
// allows it, and limits on what one search may cost, since patterns and texts may both be a stranger's.
//
// Expressions mean what the Hugging Face tokenizers library makes of them: \s is Unicode's White_Space (PCRE2 would add
// U+180E), $ is the very end. Thread-safe: each thread brings its own PatternSearch.
// Tested by tests/text/test_pattern.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

// PCRE2's own types, 8-bit variant (pcre2.h).
struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace plm {

/// What one thread needs while it searches a text: the limits and the place for the result.
class PatternSearch {
 public:
  /// One search may take a number of steps in proportion to `text_bytes`.
  explicit PatternSearch(std::size_t text_bytes);

 private:
  friend class Pattern;
  struct Free {
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_match_data_8* data) const;
  };
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
};

class Pattern {
 public:
  /// Half-open range of bytes.
  struct Span {
    std::size_t begin, end;
  };

  /// Errors (bad_input): the expression does not compile; the message says where and why.
  static Result<Pattern> compile(std::string_view expression);

  /// The first match in `text` at or after byte `from`. `text` must be well-formed UTF-8 and `from` a character's
  /// start. Errors (failed): the search would exceed the limits on steps or memory.
  Result<std::optional<Span>> find(std::string_view text, std::size_t from, PatternSearch& search) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string expression_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace plm
