#include "text/jinja/template.h"

#include <gtest/gtest.h>

#include <string>

#include "text/jinja/renderings.h"

namespace plm::jinja {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(JinjaTemplate, ErrorsNameTemplateLineAndColumn) {
  EXPECT_EQ(text_of("a\nb {{ x.y }}"), "error: test: line 2, column 7: 'x' is undefined");
  EXPECT_EQ(text_of("{{ 'é' }}\r\n{{ 'é' + 1 }}"),
            "error: test: line 2, column 8: '+' does not go with a str and a int");
  EXPECT_EQ(text_of("x\n  {% if %}"), "error: test: line 2, column 9: expected an expression, found '%}'");
  EXPECT_EQ(text_of("{% for a in b %}"), "error: test: line 1, column 4: this 'for' block is never closed");
  EXPECT_EQ(text_of("{{ 'abc }}"), "error: test: line 1, column 4: this string has no closing quote");
  EXPECT_EQ(text_of("{{ (1] }}"), "error: test: line 1, column 6: expected ')', found ']'");
  EXPECT_EQ(text_of("{{ x|nosuch }}"), "error: test: line 1, column 6: there is no filter 'nosuch'");
  EXPECT_EQ(text_of("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}{{ m() }}"),
            "error: test: line 2, column 6: division by zero");
  EXPECT_EQ(text_of("{% include 'x' %}"),
            "error: test: line 1, column 4: 'include' needs other templates; a chat template is one text");
}

TEST(JinjaTemplate, ParseErrorsAreBadInputAndRefusalsAreUsage) {
  EXPECT_EQ(rendering("{{").error().kind, ErrorKind::bad_input);
  EXPECT_EQ(rendering("{{ 1 / 0 }}").error().kind, ErrorKind::bad_input);
  const auto refusal = rendering("{{ raise_exception('system must come first') }}");
  EXPECT_EQ(refusal.error().kind, ErrorKind::usage);
  EXPECT_EQ(refusal.error().message, "test: line 1, column 19: system must come first");
}

TEST(JinjaTemplate, OnlyUtf8IsParsed) {
  EXPECT_EQ(text_of("a\xFF"), "error: test: the template is not UTF-8");
  EXPECT_EQ(text_of("{{ x }}", Json{{"x", "a\xFF"}}), "a\xEF\xBF\xBD");
}

TEST(JinjaTemplate, VariablesMustBeAnObject) {
  EXPECT_EQ(rendering("x", Json::array()).error().kind, ErrorKind::usage);
}

TEST(JinjaTemplate, TrustedVariablesCountAsTemplate) {
  const Json variables = {{"bos_token", "<s>"}, {"user", "<s>"}, {"list", {"<s>"}}};
  EXPECT_EQ(marked("{{ bos_token }}{{ user }}{{ bos_token + user }}{{ list[0] }}|", variables), "<s>«<s>»<s>«<s><s>»|");
}

TEST(JinjaTemplate, TheClockIsTheCallers) {
  EXPECT_EQ(text_of("{{ strftime_now('%d %b %Y') }}"), "26 Jul 2024");
  const auto parsed = Template::parse("{{ strftime_now('%Y') | int > 2000 }}", "now");
  EXPECT_EQ(parsed->render(Json::object())->text(), "True");
}

TEST(JinjaTemplate, OneTemplateRendersManyTimes) {
  const auto parsed = Template::parse("{% set ns = namespace(n=0) %}{% set ns.n = ns.n + x %}{{ ns.n }}", "twice");
  EXPECT_EQ(parsed->render(Json{{"x", 1}})->text(), "1");
  EXPECT_EQ(parsed->render(Json{{"x", 2}})->text(), "2");
  EXPECT_EQ(parsed->name(), "twice");
  EXPECT_EQ(parsed->source().substr(0, 6), "{% set");
}

// The bad templates of which other engines crash, hang or take gigabytes.
TEST(JinjaTemplate, HostileTemplatesAreErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{% for m in messages %}{{ m.content }", "unexpected '}'"},
      {"{% for i in range(1000000000) %}x{% endfor %}", "at most 100000"},
      {"{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}", "does a macro call itself without end?"},
      {"{{ " + repeated("(", 20000) + "1" + repeated(")", 20000) + " }}", "nested deeper than 100 levels"},
      {"{{ ''.__class__.__mro__[1].__subclasses__() }}", "'__class__'"},
      {"{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
       "strings grow too large"},
      {repeated("{% if 1 %}", 5000), "nested deeper"},
      {"{{ " + repeated("not ", 5000) + "1 }}", "nested deeper"},
      {"{{ " + repeated("-", 5000) + "1 }}", "nested deeper"},
      {"{{ 1" + repeated(" if 0 else 1", 5000) + " }}", "nested deeper"},
      {"{{ 'x' * 10000000000 }}", "strings grow too large"},
      {"{{ [0] * 10000000000 }}", "takes more steps"},
      {"{{ '%1000000000d' % 1 }}", "a width above"},
      {"{{ '{:1000000000}'.format(1) }}", "a width or precision above"},
      {"{{ 'x'.center(100000000000) }}", "strings grow too large"},
      {"{{ 'x'|indent(100000000000) }}", "strings grow too large"},
      {"{{ 2 ** 64 }}", "does not fit into 64 bits"},
      {"{{ 9223372036854775807 + 1 }}", "does not fit into 64 bits"},
      {"{{ -9223372036854775807 - 2 }}", "does not fit into 64 bits"},
      {"{{ (-9223372036854775807 - 1) // -1 }}", "does not fit into 64 bits"},
      {"{{ 92233720368547758070 }}", "does not fit into 64 bits"},
      {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "takes more steps"},
      {"{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}", "nest deeper"},
      {"{% set ns = namespace(x=0) %}{% for i in range(99999) %}{% set ns.x = [ns.x].count %}{% endfor %}",
       "nest deeper"},
      {"{{ 'abc'|random }}", "random is not supported"},
      {"{{ lipsum() }}", "lipsum is not supported"},
  };
  for (const auto& [source, reason] : cases) {
    const std::string message = text_of(source);
    EXPECT_EQ(message.substr(0, 12), "error: test:") << source.substr(0, 80);
    EXPECT_NE(message.find(reason), std::string::npos) << source.substr(0, 80) << "\n" << message.substr(0, 300);
  }
}

// Filters that name filters: what fails inside of a generator is never asked for, as in Python, but is bounded all the
// same.
TEST(JinjaTemplate, FiltersInsideFiltersAreBounded) {
  EXPECT_EQ(text_of("{{ 'a'|map(" + repeated("'map', ", 2000) + "'upper')|list|length }}"), "1");
}

TEST(JinjaTemplate, WhatOnlyLooksDeepIsNot) {
  EXPECT_EQ(text_of("{{ 0" + repeated(" + 1", 5000) + " }}"), "5000");
  EXPECT_EQ(text_of("{{ ''" + repeated(" ~ 'a'", 5000) + " | length }}").size(), 5000U);
  EXPECT_EQ(text_of("{{ 0" + repeated(" or 0", 5000) + " }}"), "0");
  EXPECT_EQ(text_of("{{ 'a'" + repeated("|upper", 5000) + " }}"), "A");
  EXPECT_EQ(text_of("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}"), "x");
}

// Things that could hold each other for ever; the sanitizers would report what is not freed.
TEST(JinjaTemplate, CyclesAreCut) {
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self is defined }}"), "True");
  EXPECT_EQ(text_of("{% macro m() %}x{% endmacro %}{% set copy = m %}{% set ns = namespace(f=m) %}{{ ns.f() }}"), "x");
  EXPECT_EQ(text_of("{% for x in [1] %}{% if loop.changed(loop) %}c{% endif %}{% endfor %}"), "c");
  EXPECT_EQ(text_of("{% set ns = namespace(l=0) %}{% for x in [[]] recursive %}{% set ns.l = loop %}{{ loop(x) }}"
                    "{% endfor %}{% if ns.l.changed(ns.l) %}c{% endif %}"),
            "c");
  EXPECT_EQ(text_of("{% set ns = namespace(m=0) %}{% macro make(prev) %}{% macro inner() %}{{ prev }}{% endmacro %}"
                    "{% set ns.m = inner %}{% endmacro %}{% for i in range(2000) %}{{ make(ns.m) }}{% endfor %}"),
            "");
}

TEST(JinjaTemplate, LimitsCanBeSet) {
  EXPECT_NE(text_of("0123456789", Json::object(), {.source_bytes = 5}).find("at most 5 are read"), std::string::npos);
  const std::string loop = "{% for i in range(100) %}x{% endfor %}";
  EXPECT_EQ(text_of(loop).size(), 100U);
  EXPECT_NE(text_of(loop, Json::object(), {.steps = 50}).find("more steps"), std::string::npos);
  EXPECT_NE(text_of(loop, Json::object(), {.text_bytes = 50}).find("more text"), std::string::npos);
  EXPECT_NE(text_of("{{ [[1]] }}", Json::object(), {.nesting = 2}).find("nested deeper than 2"), std::string::npos);
}

// Work is allowed in proportion to the conversation: a long one passes under small limits of their own.
TEST(JinjaTemplate, LongConversationsRender) {
  Json messages = Json::array();
  for (int i = 0; i < 2000; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(500, 'x')}});
  }
  const std::string source =
      "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] | trim + '\n' }}{% endfor %}";
  const auto result = rendering(source, Json{{"messages", messages}}, {.steps = 1000, .text_bytes = 1000});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_GT(result->size(), 1'000'000U);
}

}  // namespace
}  // namespace plm::jinja
