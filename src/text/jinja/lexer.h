// Cuts a template into tokens: the text between tags with its whitespace controlled (trim_blocks, lstrip_blocks, `-`
// and
// `+`), and the words and signs inside of tags. Linear in the source. What counts as what follows jinja2's lexer.
// Tested by tests/text/jinja/test_lexer.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/failure.h"

namespace plm::jinja {

enum class TokenKind {
  data,            ///< text outside of tags
  block_begin,     ///< {%
  block_end,       ///< %}
  variable_begin,  ///< {{
  variable_end,    ///< }}
  name,
  string,   ///< its value, escapes resolved
  integer,  ///< its value in `integer`
  real,     ///< its value in `real`
  symbol,   ///< an operator or bracket
  end,      ///< of the source
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  std::uint32_t offset = 0;  ///< where in the source it begins, in bytes

  [[nodiscard]] bool is_name(std::string_view word) const { return kind == TokenKind::name && text == word; }
  [[nodiscard]] bool is_symbol(std::string_view sign) const { return kind == TokenKind::symbol && text == sign; }
};

/// A Failure that knows where in the source it happened.
class SyntaxFailure : public Failure {
 public:
  SyntaxFailure(std::uint32_t offset, std::string reason)
      : Failure(ErrorKind::bad_input, std::move(reason)), offset_(offset) {}
  [[nodiscard]] std::uint32_t offset() const { return offset_; }

 private:
  std::uint32_t offset_;
};

/// `source` with every line break (CR LF, CR) as LF and without the one at its very end.
[[nodiscard]] std::string with_plain_line_breaks(std::string_view source);

/// The tokens of a source with plain line breaks, the last of kind `end`. Throws SyntaxFailure.
[[nodiscard]] std::vector<Token> tokenize(std::string_view source);

}  // namespace plm::jinja
