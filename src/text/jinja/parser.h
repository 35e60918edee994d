// Tokens to the tree of a template, by recursive descent. Precedence, from loosest: if-else, or, and, not, comparisons
// and `in`, + and -, ~, * / // %, ** (from left to right, as jinja2 has it), signs, then suffixes: . [] () | is.
// Statements: parser.cpp. Expressions: expression_parser.cpp. Tested by tests/text/jinja/test_template.cpp.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace plm::jinja {

/// Expressions over a list of tokens; the parser of statements builds on it.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, std::size_t most_nesting)
      : tokens_(std::move(tokens)), most_nesting_(most_nesting) {}

 protected:
  /// One more level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.nesting_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool skip_symbol(std::string_view sign);
  bool skip_name(std::string_view word);
  void expect_symbol(std::string_view sign);
  Token expect_name(std::string_view what);
  [[noreturn]] void fail_here(const std::string& reason) const;
  [[noreturn]] void fail_unexpected(std::string_view expected) const;

  /// An expression; without `with_condition` an `if` behind it is not its own.
  ExpressionPointer expression(bool with_condition = true);
  /// Expressions with commas between them: a tuple, or the one expression when there is no comma.
  ExpressionPointer tuple(bool with_condition = true);
  ArgumentList call_arguments();
  /// |filter|filter..., the current token being the first filter's name.
  std::vector<Suffix> filter_chain();

  // What the body of the innermost macro mentions.
  struct Mentions {
    bool varargs = false, kwargs = false, caller = false;
  };
  std::vector<Mentions> mentions_;

 private:
  ExpressionPointer conditional();
  ExpressionPointer disjunction();
  ExpressionPointer conjunction();
  ExpressionPointer negation();
  ExpressionPointer comparison();
  ExpressionPointer concatenation();
  ExpressionPointer arithmetic(std::initializer_list<std::string_view> signs,
                               ExpressionPointer (ExpressionParser::*operand)());
  ExpressionPointer sum();
  ExpressionPointer product();
  ExpressionPointer power();
  ExpressionPointer signed_operand();
  ExpressionPointer unary(bool with_filters);
  ExpressionPointer primary();
  ExpressionPointer parenthesised();
  ExpressionPointer list_display();
  ExpressionPointer dictionary_display();
  /// `base` with the suffixes that follow it, if any.
  ExpressionPointer suffixed(ExpressionPointer base, bool with_filters);
  bool take_suffix(std::vector<Suffix>& suffixes, bool with_filters);
  Suffix attribute();
  Suffix subscript();
  Suffix filter();
  Suffix test();
  void note_mention(std::string_view name);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t most_nesting_, nesting_ = 0;
};

/// The tree of a template whose source is `source` (line breaks plain). Throws SyntaxFailure.
[[nodiscard]] Block parse_template(std::string_view source, std::size_t most_nesting);

}  // namespace plm::jinja
