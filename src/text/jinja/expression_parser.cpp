// Expressions of the template language. Declared in parser.h. Tested by tests/text/jinja/test_template.cpp.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/parser.h"

namespace plm::jinja {
namespace {

// A node of type T that begins where `token` does.
template <typename T>
std::unique_ptr<T> node_at(const Token& token) {
  auto node = std::make_unique<T>();
  node->offset = token.offset;
  return node;
}

ExpressionPointer literal(const Token& token, Value value) {
  auto node = node_at<Literal>(token);
  node->value = std::move(value);
  return node;
}

bool is_word_operator(const Token& token) {
  constexpr std::array<std::string_view, 7> kWords = {"and", "or", "not", "in", "is", "if", "else"};
  return token.kind == TokenKind::name && std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

bool is_comparison_sign(const Token& token) {
  constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", "<", "<=", ">", ">="};
  return token.kind == TokenKind::symbol && std::find(kSigns.begin(), kSigns.end(), token.text) != kSigns.end();
}

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
    case TokenKind::end: return "the end of the template";
    case TokenKind::block_begin: return "'{%'";
    case TokenKind::block_end: return "'%}'";
    case TokenKind::variable_begin: return "'{{'";
    case TokenKind::variable_end: return "'}}'";
    case TokenKind::name:
    case TokenKind::symbol: return fmt::format("'{}'", printable(token.text, 60));
    case TokenKind::string: return "a string";
    case TokenKind::integer:
    case TokenKind::real: return "a number";
  }
  return "nothing";
}

}  // namespace

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ <= parser_.most_nesting_) return;
  --parser_.nesting_;
  parser_.fail_here(fmt::format("nested deeper than {} levels", parser_.most_nesting_));
}

void ExpressionParser::fail_here(const std::string& reason) const { throw SyntaxFailure(current().offset, reason); }

void ExpressionParser::fail_unexpected(std::string_view expected) const {
  fail_here(fmt::format("expected {}, found {}", expected, described(current())));
}

bool ExpressionParser::skip_symbol(std::string_view sign) {
  if (!current().is_symbol(sign)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_name(std::string_view word) {
  if (!current().is_name(word)) return false;
  next();
  return true;
}

void ExpressionParser::expect_symbol(std::string_view sign) {
  if (!skip_symbol(sign)) fail_unexpected(fmt::format("'{}'", sign));
}

Token ExpressionParser::expect_name(std::string_view what) {
  if (current().kind != TokenKind::name) fail_unexpected(what);
  return next();
}

ExpressionPointer ExpressionParser::expression(bool with_condition) {
  return with_condition ? conditional() : disjunction();
}

ExpressionPointer ExpressionParser::tuple(bool with_condition) {
  const Token& start = current();
  auto node = node_at<SequenceDisplay>(start);
  node->kind = Sequence::Kind::tuple;
  bool has_comma = false;
  while (true) {
    const Token& token = current();
    const bool ends = token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end ||
                      token.is_symbol(")") || token.kind == TokenKind::end;
    if (ends && has_comma) break;
    node->items.push_back(expression(with_condition));
    if (!skip_symbol(",")) break;
    has_comma = true;
  }
  if (has_comma) return node;
  return std::move(node->items.front());
}

ExpressionPointer ExpressionParser::conditional() {
  ExpressionPointer value = disjunction();
  while (current().is_name("if")) {
    auto node = node_at<Conditional>(next());
    node->value = std::move(value);
    node->condition = disjunction();
    if (skip_name("else")) {
      const Level level(*this);
      node->otherwise = conditional();
    }
    value = std::move(node);
  }
  return value;
}

ExpressionPointer ExpressionParser::disjunction() {
  ExpressionPointer first = conjunction();
  if (!current().is_name("or")) return first;
  auto node = node_at<Logic>(current());
  node->is_or = true;
  node->operands.push_back(std::move(first));
  while (skip_name("or")) node->operands.push_back(conjunction());
  return node;
}

ExpressionPointer ExpressionParser::conjunction() {
  ExpressionPointer first = negation();
  if (!current().is_name("and")) return first;
  auto node = node_at<Logic>(current());
  node->operands.push_back(std::move(first));
  while (skip_name("and")) node->operands.push_back(negation());
  return node;
}

ExpressionPointer ExpressionParser::negation() {
  if (!current().is_name("not")) return comparison();
  const Level level(*this);
  auto node = node_at<Not>(next());
  node->operand = negation();
  return node;
}

ExpressionPointer ExpressionParser::comparison() {
  ExpressionPointer first = sum();
  std::vector<Operation> rest;
  while (true) {
    Operation operation;
    operation.offset = current().offset;
    if (is_comparison_sign(current()) || current().is_name("in")) {
      operation.sign = next().text;
    } else if (current().is_name("not") && ahead().is_name("in")) {
      next(), next();
      operation.sign = "not in";
    } else {
      break;
    }
    operation.operand = sum();
    rest.push_back(std::move(operation));
  }
  if (rest.empty()) return first;
  auto node = std::make_unique<Comparison>();
  node->offset = rest.front().offset;
  node->first = std::move(first);
  node->rest = std::move(rest);
  return node;
}

ExpressionPointer ExpressionParser::arithmetic(std::initializer_list<std::string_view> signs,
                                               ExpressionPointer (ExpressionParser::*operand)()) {
  ExpressionPointer first = (this->*operand)();
  std::vector<Operation> rest;
  const auto is_sign = [&](const Token& token) {
    return token.kind == TokenKind::symbol && std::find(signs.begin(), signs.end(), token.text) != signs.end();
  };
  while (is_sign(current())) {
    Operation operation;
    operation.offset = current().offset;
    operation.sign = next().text;
    operation.operand = (this->*operand)();
    rest.push_back(std::move(operation));
  }
  if (rest.empty()) return first;
  auto node = std::make_unique<Arithmetic>();
  node->offset = rest.front().offset;
  node->first = std::move(first);
  node->rest = std::move(rest);
  return node;
}

ExpressionPointer ExpressionParser::sum() { return arithmetic({"+", "-"}, &ExpressionParser::concatenation); }

ExpressionPointer ExpressionParser::concatenation() {
  ExpressionPointer first = product();
  if (!current().is_symbol("~")) return first;
  auto node = node_at<Concatenation>(current());
  node->parts.push_back(std::move(first));
  while (skip_symbol("~")) node->parts.push_back(product());
  return node;
}

ExpressionPointer ExpressionParser::product() { return arithmetic({"*", "/", "//", "%"}, &ExpressionParser::power); }

ExpressionPointer ExpressionParser::power() { return arithmetic({"**"}, &ExpressionParser::signed_operand); }

ExpressionPointer ExpressionParser::signed_operand() { return unary(true); }

ExpressionPointer ExpressionParser::unary(bool with_filters) {
  if (!current().is_symbol("-") && !current().is_symbol("+")) return suffixed(primary(), with_filters);
  const Level level(*this);
  auto node = node_at<Sign>(current());
  node->is_negative = next().text == "-";
  node->operand = unary(false);
  return suffixed(std::move(node), with_filters);
}

ExpressionPointer ExpressionParser::primary() {
  const Token& token = current();
  if (token.is_symbol("(")) return parenthesised();
  if (token.is_symbol("[")) return list_display();
  if (token.is_symbol("{")) return dictionary_display();
  if (token.kind == TokenKind::integer) return literal(token, Value(next().integer));
  if (token.kind == TokenKind::real) return literal(token, Value(next().real));
  if (token.kind == TokenKind::string) {
    const Token first = next();
    std::string text = first.text;
    while (current().kind == TokenKind::string) text += next().text;
    return literal(first, Value(MarkedText(std::move(text), Origin::template_text)));
  }
  if (token.kind != TokenKind::name || is_word_operator(token)) fail_unexpected("an expression");
  const Token word = next();
  if (word.text == "true" || word.text == "True") return literal(word, Value(true));
  if (word.text == "false" || word.text == "False") return literal(word, Value(false));
  if (word.text == "none" || word.text == "None") return literal(word, None{});
  note_mention(word.text);
  auto node = node_at<Name>(word);
  node->name = word.text;
  return node;
}

void ExpressionParser::note_mention(std::string_view name) {
  for (Mentions& mentions : mentions_) {
    mentions.varargs |= name == "varargs";
    mentions.kwargs |= name == "kwargs";
    mentions.caller |= name == "caller";
  }
}

ExpressionPointer ExpressionParser::parenthesised() {
  const Level level(*this);
  const Token open = next();
  ExpressionPointer inner;
  if (current().is_symbol(")")) {
    auto node = node_at<SequenceDisplay>(open);
    node->kind = Sequence::Kind::tuple;
    inner = std::move(node);
  } else {
    inner = tuple();
  }
  expect_symbol(")");
  return inner;
}

ExpressionPointer ExpressionParser::list_display() {
  const Level level(*this);
  auto node = node_at<SequenceDisplay>(next());
  while (!current().is_symbol("]")) {
    node->items.push_back(expression());
    if (!skip_symbol(",")) break;
  }
  expect_symbol("]");
  return node;
}

ExpressionPointer ExpressionParser::dictionary_display() {
  const Level level(*this);
  auto node = node_at<DictionaryDisplay>(next());
  while (!current().is_symbol("}")) {
    ExpressionPointer key = expression();
    expect_symbol(":");
    node->entries.emplace_back(std::move(key), expression());
    if (!skip_symbol(",")) break;
  }
  expect_symbol("}");
  return node;
}

ExpressionPointer ExpressionParser::suffixed(ExpressionPointer base, bool with_filters) {
  std::vector<Suffix> suffixes;
  while (take_suffix(suffixes, false)) {
  }
  if (with_filters) {
    while (take_suffix(suffixes, true)) {
    }
  }
  if (suffixes.empty()) return base;
  auto node = std::make_unique<Postfix>();
  node->offset = base->offset;
  node->base = std::move(base);
  node->suffixes = std::move(suffixes);
  return node;
}

// As in jinja2, attributes and subscripts come first; behind a filter or test there are only more of them and calls.
bool ExpressionParser::take_suffix(std::vector<Suffix>& suffixes, bool with_filters) {
  const Token& token = current();
  if (!with_filters && token.is_symbol(".")) {
    suffixes.push_back(attribute());
  } else if (!with_filters && token.is_symbol("[")) {
    suffixes.push_back(subscript());
  } else if (token.is_symbol("(")) {
    Suffix call;
    call.kind = Suffix::Kind::call;
    call.offset = token.offset;
    call.arguments = call_arguments();
    suffixes.push_back(std::move(call));
  } else if (with_filters && token.is_symbol("|")) {
    next();
    suffixes.push_back(filter());
  } else if (with_filters && token.is_name("is")) {
    suffixes.push_back(test());
  } else {
    return false;
  }
  return true;
}

Suffix ExpressionParser::attribute() {
  Suffix suffix;
  suffix.offset = next().offset;
  if (current().kind == TokenKind::integer) {
    suffix.kind = Suffix::Kind::subscript;
    suffix.index = literal(current(), Value(current().integer));
    next();
  } else {
    suffix.name = expect_name("the name of an attribute").text;
  }
  return suffix;
}

Suffix ExpressionParser::subscript() {
  const Level level(*this);
  Suffix suffix;
  suffix.kind = Suffix::Kind::subscript;
  suffix.offset = next().offset;
  if (!current().is_symbol(":")) suffix.index = expression();
  if (skip_symbol(":")) {
    suffix.kind = Suffix::Kind::slice;
    if (!current().is_symbol(":") && !current().is_symbol("]")) suffix.stop = expression();
    if (skip_symbol(":") && !current().is_symbol("]")) suffix.step = expression();
  } else if (current().is_symbol(",")) {
    auto key = std::make_unique<SequenceDisplay>();
    key->offset = suffix.offset;
    key->kind = Sequence::Kind::tuple;
    key->items.push_back(std::move(suffix.index));
    while (skip_symbol(",")) key->items.push_back(expression());
    suffix.index = std::move(key);
  }
  expect_symbol("]");
  return suffix;
}

Suffix ExpressionParser::filter() {
  Suffix suffix;
  suffix.kind = Suffix::Kind::filter;
  suffix.offset = current().offset;
  suffix.name = expect_name("the name of a filter").text;
  suffix.builtin = find_filter(suffix.name);
  if (current().is_symbol("(")) suffix.arguments = call_arguments();
  return suffix;
}

std::vector<Suffix> ExpressionParser::filter_chain() {
  std::vector<Suffix> filters;
  do {
    filters.push_back(filter());
  } while (skip_symbol("|"));
  return filters;
}

Suffix ExpressionParser::test() {
  Suffix suffix;
  suffix.offset = next().offset;
  suffix.kind = skip_name("not") ? Suffix::Kind::not_test : Suffix::Kind::test;
  suffix.name = expect_name("the name of a test").text;
  suffix.builtin = find_test(suffix.name);
  if (current().is_name("is")) fail_here("tests cannot be chained with 'is'; combine them with 'and'");
  if (current().is_symbol("(")) {
    suffix.arguments = call_arguments();
    return suffix;
  }
  const bool has_argument = (current().kind == TokenKind::name && !is_word_operator(current())) ||
                            current().kind == TokenKind::string || current().kind == TokenKind::integer ||
                            current().kind == TokenKind::real || current().is_symbol("[") || current().is_symbol("{");
  if (has_argument) {
    ArgumentSyntax argument;
    argument.value = suffixed(primary(), false);
    suffix.arguments.push_back(std::move(argument));
  }
  return suffix;
}

ArgumentList ExpressionParser::call_arguments() {
  const Level level(*this);
  expect_symbol("(");
  ArgumentList arguments;
  while (!current().is_symbol(")")) {
    ArgumentSyntax argument;
    if (skip_symbol("*")) {
      argument.kind = ArgumentSyntax::Kind::spread;
    } else if (skip_symbol("**")) {
      argument.kind = ArgumentSyntax::Kind::spread_keywords;
    } else if (current().kind == TokenKind::name && ahead().is_symbol("=")) {
      argument.kind = ArgumentSyntax::Kind::keyword;
      argument.name = next().text;
      next();
    } else if (!arguments.empty() && arguments.back().kind != ArgumentSyntax::Kind::positional) {
      fail_here("a positional argument must not follow a named one");
    }
    argument.value = expression();
    arguments.push_back(std::move(argument));
    if (!skip_symbol(",")) break;
  }
  expect_symbol(")");
  return arguments;
}

}  // namespace plm::jinja
