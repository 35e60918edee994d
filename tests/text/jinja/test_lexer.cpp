#include "text/jinja/lexer.h"

#include <gtest/gtest.h>

#include "text/jinja/string_literal.h"

namespace plm::jinja {
namespace {

std::string spelled(const Token& token) {
  switch (token.kind) {
    case TokenKind::data: return "[" + token.text + "]";
    case TokenKind::block_begin: return "{%";
    case TokenKind::block_end: return "%}";
    case TokenKind::variable_begin: return "{{";
    case TokenKind::variable_end: return "}}";
    case TokenKind::name: return token.text;
    case TokenKind::string: return "'" + token.text + "'";
    case TokenKind::integer: return std::to_string(token.integer);
    case TokenKind::real: return fmt::format("{}f", token.real);
    case TokenKind::symbol: return token.text;
    case TokenKind::end: return ".";
  }
  return "?";
}

std::string tokens(std::string_view source) {
  std::string result;
  try {
    for (const Token& token : tokenize(source)) result += (result.empty() ? "" : " ") + spelled(token);
  } catch (const SyntaxFailure& failure) {
    return fmt::format("{} at {}", failure.reason(), failure.offset());
  }
  return result;
}

TEST(JinjaLexer, CutsTagsAndText) {
  EXPECT_EQ(tokens("a{{ b }}c{% d %}"), "[a] {{ b }} [c] {% d %} .");
  EXPECT_EQ(tokens("{{a.b['c']|d(1,2.5)}}"), "{{ a . b [ 'c' ] | d ( 1 , 2.5f ) }} .");
  EXPECT_EQ(tokens("{{ {'a': {}} }}"), "{{ { 'a' : { } } }} .");
  EXPECT_EQ(tokens("{{ a**b//c!=d<=e }}"), "{{ a ** b // c != d <= e }} .");
  EXPECT_EQ(tokens("{ } {x} %}"), "[{ } {x} %}] .");
  EXPECT_EQ(tokens("a{# {{ b }} #}c"), "[a] [c] .");
  EXPECT_EQ(tokens(""), ".");
}

TEST(JinjaLexer, ReadsNumbers) {
  EXPECT_EQ(tokens("{{ 1_000 0x_ff 0b11 0o17 00 1.5 1e3 2.5E-1 1_0.0_1 }}"),
            "{{ 1000 255 3 15 0 1.5f 1000f 0.25f 10.01f }} .");
  EXPECT_EQ(tokens("{{ a.0.1 1.b }}"), "{{ a . 0 . 1 1 . b }} .");
  EXPECT_EQ(tokens("{{ 99999999999999999999 }}"), "the number does not fit into 64 bits at 3");
}

TEST(JinjaLexer, ControlsWhitespaceAroundTags) {
  EXPECT_EQ(tokens("a \n {%- b -%} \n c"), "[a] {% b %} [c] .");
  EXPECT_EQ(tokens("a\n  {% b %}\nc"), "[a\n] {% b %} [c] .");
  EXPECT_EQ(tokens("a\n  {%+ b +%}\nc"), "[a\n  ] {% b %} [\nc] .");
  EXPECT_EQ(tokens("a\n  {{ b }}\nc"), "[a\n  ] {{ b }} [\nc] .");
  EXPECT_EQ(tokens("a {% b %} \nc"), "[a ] {% b %} [ \nc] .");
  EXPECT_EQ(tokens("  {# x #}\n  {% b %}"), "{% b %} .");
  EXPECT_EQ(tokens("{#-#} a {#- -#} b"), "[ a] [b] .");
  EXPECT_EQ(tokens("{% raw %} {{ x }} {% endraw -%} y"), "[ {{ x }} ] [y] .");
}

TEST(JinjaLexer, SaysWhereATagIsWrong) {
  EXPECT_EQ(tokens("ab{{ c"), "the tag has no end '}}' at 5");
  EXPECT_EQ(tokens("a{# b"), "this comment has no end '#}' at 1");
  EXPECT_EQ(tokens("a{% raw %}b"), "this 'raw' block has no '{% endraw %}' at 1");
  EXPECT_EQ(tokens("{{ 'a"), "this string has no closing quote at 3");
  EXPECT_EQ(tokens("{{ a ? }}"), "unexpected character '?' at 5");
  EXPECT_EQ(tokens("{{ a) }}"), "unexpected ')' at 4");
  EXPECT_EQ(tokens("{{ '\\xZZ' }}"), "in a string: the escape is not a character's number at 4");
}

TEST(JinjaLexer, LineBreaksBecomePlain) {
  EXPECT_EQ(with_plain_line_breaks("a\r\nb\rc\n"), "a\nb\nc");
  EXPECT_EQ(with_plain_line_breaks("a\n\n"), "a\n");
  EXPECT_EQ(with_plain_line_breaks("\r"), "");
}

TEST(JinjaLexer, StringEscapesArePythons) {
  EXPECT_EQ(resolve_escapes(R"(a\n\t\\\'\"\x41\u00e9\U0001F600\101)").value(), "a\n\t\\'\"Aé😀A");
  EXPECT_EQ(resolve_escapes(R"(\0)").value(), std::string(1, '\0'));
  EXPECT_EQ(resolve_escapes(R"(\ud83d\ude00)").value(), "😀");
  EXPECT_EQ(resolve_escapes(R"(\ud83d)").value(), "\xEF\xBF\xBD");
  EXPECT_EQ(resolve_escapes(R"(\d\ )").value(), R"(\d\ )");
  EXPECT_EQ(resolve_escapes("a\\\nb").value(), "ab");
  EXPECT_EQ(resolve_escapes(R"(ab\N{DASH})").error().offset, 2U);
}

}  // namespace
}  // namespace plm::jinja
