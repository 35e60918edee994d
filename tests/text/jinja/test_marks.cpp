// No operation turns input into template text: src/text/jinja/text_operations.cpp, src/text/jinja/format.cpp and all
// filters and methods, each fed a message that spells control tokens.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/jinja/renderings.h"

namespace plm::jinja {
namespace {

// Letters of the message that no template below and no operation writes by itself, in any case.
constexpr std::string_view kHostile = "<|ЖM_END|> Жж\tжЖ\nЖ&<b>Ж</b>%Ж";

// Whether some byte of the Cyrillic letters, which only the message holds, is marked as the template's.
bool leaks(const MarkedText& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_message = static_cast<unsigned char>(text.text()[at]) >= 0xD0;
    if (is_message && text.is_from_template(at)) return true;
  }
  return false;
}

TEST(JinjaMarks, EveryOperationKeepsInputInput) {
  const std::vector<std::string> operations = {
      "m",
      "m ~ 'x'",
      "'x' + m",
      "m * 3",
      "m[1:5]",
      "m[::-1]",
      "m[2]",
      "'%s' % m",
      "'%5.3s' % m",
      "'%r' % [m]",
      "'%(a)s' % {'a': m}",
      "m % ()",
      "[m]",
      "{m: m}",
      "(m,)",
      "m|capitalize",
      "m|center(80)",
      "m|e",
      "m|escape",
      "m|forceescape",
      "'%s'|format(m)",
      "m|format",
      "m|indent",
      "m|indent(2, true, true)",
      "'a\nb'|indent(m)",
      "m|lower",
      "m|replace('|', '-')",
      "'axa'|replace('x', m)",
      "m|replace(m, 'x' ~ m)",
      "m|safe",
      "m|string",
      "m|striptags",
      "m|title",
      "m|trim",
      "m|truncate(6)",
      "m|truncate(6, true)",
      "'abcdefghijklmn'|truncate(12, true, m[:3], 0)",
      "m|upper",
      "m|wordwrap(5)",
      "'a b'|wordwrap(1, true, m)",
      "{'a': m}|xmlattr",
      "m|batch(2)|list",
      "{m: 1}|dictsort",
      "m|first",
      "m|last",
      "[m]|first",
      "[{'a': m}]|groupby('a')",
      "{m: m}|items|list",
      "m|join('-')",
      "'abc'|join(m)",
      "[m, m]|join",
      "m|list",
      "[m]|map('upper')|list",
      "m|max",
      "m|min",
      "[m]|reject('none')|list",
      "m|reverse",
      "[m]|select('string')|list",
      "[{'a': m}]|selectattr('a')|map(attribute='a')|join",
      "m|slice(3)|list",
      "m|sort",
      "m|sort|join",
      "[[m]]|sum(start=[])|first",
      "m|unique|join",
      "none|default(m, true)",
      "missing|default(m)",
      "m|pprint",
      "m|tojson",
      "[m]|tojson(indent=2)",
      "{'a': [m]}|tojson(indent=m)",
      "[1, 2]|tojson(separators=(m, m))",
      "m.capitalize()",
      "m.casefold()",
      "m.center(60, '-')",
      "'x'.center(9, m[3])",
      "m.expandtabs()",
      "'{}'.format(m)",
      "'{:>80}'.format(m)",
      "'{!r}'.format(m)",
      "'{a}'.format(a=m)",
      "m.format()",
      "m.join(['a', 'b'])",
      "'-'.join([m, m])",
      "m.ljust(60)",
      "m.lower()",
      "m.lstrip('<')",
      "m.partition('|')",
      "m.partition('|')|join",
      "m.removeprefix('<')",
      "m.removesuffix('>')",
      "m.replace('|', '')",
      "'axa'.replace('x', m)",
      "m.rjust(70)",
      "m.rpartition('|')[2]",
      "m.rsplit()",
      "m.rsplit(' ')|join",
      "m.rstrip('>')",
      "m.split()",
      "m.split()|join(' ')",
      "m.split('|')[1]",
      "m.splitlines()",
      "m.splitlines()|join",
      "m.strip('<')",
      "m.swapcase()",
      "m.title()",
      "m.upper()",
      "m.zfill(60)",
      "d.keys()|join",
      "d.values()|join",
      "d|tojson",
      "d.items()|list",
      "d.a",
      "d['a']",
      "d.get('a')",
      "d.get('zz', m)",
      "m if true",
      "m or 'x'",
      "'' or m",
      "dict(a=m)",
      "dict(a=m).a",
      "namespace(a=m).a",
      "cycler(m).next()",
      "strftime_now(m)",
      "joiner(m)() ~ m",
      "[m][0]",
      "[m, 'x']|map('string')|join('|')",
      "(m ~ 'x')[3:]",
      "('x' ~ m).split('|')|last",
      "('<|im_start|>' ~ m)|upper|trim|replace('IM', 'im')",
      "m|attr('upper')()",
  };
  const Json variables = {{"m", kHostile}, {"d", {{"a", kHostile}, {std::string(kHostile), "b"}}}};
  for (const std::string& operation : operations) {
    const auto result = rendering("<|im_start|>{{ " + operation + " }}<|im_end|>", variables);
    ASSERT_TRUE(result.has_value() || operation.find("m %") == 0 || operation.find("m|format") == 0 ||
                operation.find("m.format") == 0)
        << operation << "\n"
        << result.error().message;
    if (!result) continue;
    EXPECT_FALSE(leaks(*result)) << operation << "\n" << marked(*result);
    EXPECT_TRUE(result->is_from_template(0, 12) && result->is_from_template(result->size() - 10, result->size()));
  }
}

TEST(JinjaMarks, EveryStatementKeepsInputInput) {
  const std::vector<std::string> templates = {
      "{% for c in m %}{{ c }}{% endfor %}",
      "{% set x = m %}{{ x }}",
      "{% set x %}a{{ m }}{% endset %}{{ x }}",
      "{% set x | upper %}a{{ m }}{% endset %}{{ x | trim }}",
      "{% filter upper %}a{{ m }}{% endfilter %}",
      "{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f(m) }}{{ f(m) | upper }}",
      "{% macro f() %}<{{ caller(m) }}>{% endmacro %}{% call(a) f() %}[{{ a }}]{% endcall %}",
      "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(m, a=m) }}",
      "{% with a = m %}{{ a }}{% endwith %}",
      "{% generation %}{{ m }}{% endgeneration %}",
      "{% set ns = namespace() %}{% set ns.t = '' %}{% for c in m %}{% set ns.t = ns.t ~ c %}{% endfor %}{{ ns.t }}",
      "{% for x in [[m]] recursive %}{{ loop(x) if x is not string else x }}{% endfor %}",
      "{% for x in [1, 2] %}{{ loop.cycle(m, 'y') }}{{ loop.previtem }}{% endfor %}",
  };
  for (const std::string& source : templates) {
    const auto result = rendering("<|a|>" + source + "<|b|>", Json{{"m", kHostile}});
    ASSERT_TRUE(result.has_value()) << source << "\n" << result.error().message;
    EXPECT_FALSE(leaks(*result)) << source << "\n" << marked(*result);
  }
}

TEST(JinjaMarks, MarksAreKeptCharacterByCharacter) {
  const Json message = {{"m", " user "}};
  EXPECT_EQ(marked("<|{{ m | trim }}|>", message), "<|«user»|>");
  EXPECT_EQ(marked("{{ '<|' ~ m.strip() ~ '|>' }}", message), "<|«user»|>");
  EXPECT_EQ(marked("{{ ('<|' ~ m ~ '|>') | upper }}", message), "<|« USER »|>");
  EXPECT_EQ(marked("{{ ('<|' ~ m ~ '|>')[::-1] }}", message), ">|« resu »|<");
  EXPECT_EQ(marked("{{ ('<|' ~ m ~ '|>').replace('user', 'x') }}", message), "<|« »x« »|>");
  EXPECT_EQ(marked("{{ '<|{}|>'.format(m.strip()) }}", message), "<|«user»|>");
  EXPECT_EQ(marked("{{ '<|%s|>' % m }}", message), "<|« user »|>");
  EXPECT_EQ(marked("{{ ['<|', m, '|>'] | join }}", message), "<|« user »|>");
  EXPECT_EQ(marked("{{ ('<a|' ~ m ~ '|b>').split('|') | join('/') }}", message), "<a/« user »/b>");
  EXPECT_EQ(marked("{{ '&' | e }}{{ '&' ~ m | e }}", {{"m", "&"}}), "&amp;&«&amp;»");
}

TEST(JinjaMarks, WhatComesFromNowhereIsInput) {
  EXPECT_EQ(marked("<{{ 1 }}{{ true }}{{ [1] }}{{ 1.5 }}{{ none }}>"), "<«1True[1]1.5None»>");
  EXPECT_EQ(marked("<{{ {'a': '<|x|>'} | tojson }}>"), "<«{\"a\": \"<|x|>\"}»>");
  EXPECT_EQ(marked("<{{ 'a' | center(3) }}>"), "<« »a« »>");
  EXPECT_EQ(marked("<{{ strftime_now('on %d') }}>"), "<on «26»>");
}

}  // namespace
}  // namespace plm::jinja
