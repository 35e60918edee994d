// Covers src/constraint/gbnf_parser.cpp and text_cursor.h.
#include "constraint/gbnf_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace plm {
namespace {

std::string refusal(std::string_view text) {
  const auto grammar = parse_gbnf(text);
  return grammar ? "" : grammar.error().message;
}

TEST(GbnfParser, ErrorsNameLineAndColumn) {
  EXPECT_EQ(refusal("root ::= \"a\"\nb ::= (\"x\"\n"),
            "grammar, line 2, column 7: a group is not closed: expected ')', found the end");
  EXPECT_EQ(refusal("root ::= x\n"),
            "grammar, line 1, column 10: rule 'x' is used and not defined; define it, or correct the name");
  EXPECT_EQ(refusal("# nothing\n"),
            "grammar, line 2, column 1: there is no rule named root; name the rule to start with so: root ::= ...");
  EXPECT_NE(refusal("root ::= b\nb ::= b \"x\" | \"y\"").find("grammar, line 1, column 10: rule 'b' is left-recursive"),
            std::string::npos);
  EXPECT_NE(refusal("root ::= \"a\"{9999}").find("4096"), std::string::npos);
  EXPECT_NE(refusal("root ::= \"a\"\nroot ::= \"b\"").find("line 2, column 1: rule 'root' is defined a second time"),
            std::string::npos);
  EXPECT_NE(refusal("root ::= [z-a]").find("line 1, column 11"), std::string::npos);
  EXPECT_NE(refusal("root ::= \"\\uD800\"").find("no character"), std::string::npos);
  EXPECT_NE(refusal("root ::= []").find("without a character"), std::string::npos);
  EXPECT_NE(refusal("root ::= \"\xFF\"").find("not UTF-8"), std::string::npos);
  EXPECT_NE(refusal("root ::= \"a\" root").find("no text fits"), std::string::npos);
  EXPECT_NE(refusal("root ::= " + std::string(60000, '(')).find("256"), std::string::npos);
}

TEST(GbnfParser, LenientLetsTheLastDefinitionCount) {
  std::vector<std::string> warnings;
  const auto grammar = parse_gbnf("root ::= \"a\"\nroot ::= \"b\"", {.lenient = true, .warnings = &warnings});
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("line 2"), std::string::npos);
}

TEST(GbnfParser, TokensAreLookedUp) {
  GbnfOptions options;
  options.tokens = 10;
  options.find_token = [](std::string_view text) -> std::optional<TokenId> {
    return text == "<think>" ? std::optional<TokenId>(3) : std::nullopt;
  };
  EXPECT_TRUE(parse_gbnf("root ::= <think> !<[4]>* \"a\"", options).has_value());
  EXPECT_NE(parse_gbnf("root ::= <[10]>", options).error().message.find("no token 10"), std::string::npos);
  EXPECT_NE(parse_gbnf("root ::= <other>", options).error().message.find("'<other>'"), std::string::npos);
  EXPECT_FALSE(parse_gbnf("root ::= !\"a\"", options).has_value());
}

TEST(GbnfParser, AHundredThousandRulesTakeNoTime) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("r{} ::= r{}\n", i, i + 1);
  text += "r100000 ::= \"x\"\n";
  const auto grammar = parse_gbnf(text);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
}

}  // namespace
}  // namespace plm
