#include "constraint/constraint_source.h"

#include <gtest/gtest.h>

#include <string>

#include "constraint/automaton.h"

namespace plm {
namespace {

bool fits(const ConstraintSource& source, std::string_view text) {
  std::vector<std::string> warnings;
  auto grammar = grammar_of(source, {}, warnings);
  EXPECT_TRUE(grammar.has_value()) << (grammar ? "" : grammar.error().message);
  if (!grammar) return false;
  Automaton automaton(std::move(*grammar));
  return automaton.accepts(automaton.step(automaton.start(), text));
}

TEST(ConstraintSource, EveryLanguageBecomesAGrammar) {
  const ConstraintSource gbnf{.language = ConstraintLanguage::gbnf, .text = "root ::= \"a\"+", .choices = {}};
  EXPECT_TRUE(fits(gbnf, "aa"));
  EXPECT_FALSE(fits(gbnf, ""));
  const ConstraintSource regex{.language = ConstraintLanguage::regex, .text = "^[0-9]{2}$", .choices = {}};
  EXPECT_TRUE(fits(regex, "42"));
  EXPECT_FALSE(fits(regex, "x42"));
  const ConstraintSource choice{.language = ConstraintLanguage::choice, .text = {}, .choices = {"yes", "no", "ye"}};
  EXPECT_TRUE(fits(choice, "ye"));
  EXPECT_TRUE(fits(choice, "yes"));
  EXPECT_FALSE(fits(choice, "y"));
  const ConstraintSource schema{
      .language = ConstraintLanguage::json_schema, .text = R"({"type": "integer", "minimum": 7})", .choices = {}};
  EXPECT_TRUE(fits(schema, "12"));
  EXPECT_FALSE(fits(schema, "6"));
}

TEST(ConstraintSource, WhatIsWrongIsSaid) {
  std::vector<std::string> warnings;
  const auto refusal = [&](const ConstraintSource& source) {
    const auto grammar = grammar_of(source, {}, warnings);
    return grammar ? "" : grammar.error().message;
  };
  EXPECT_NE(refusal({.language = ConstraintLanguage::choice, .text = {}, .choices = {}}), "");
  EXPECT_NE(refusal({.language = ConstraintLanguage::choice, .text = {}, .choices = {"\xFF"}}), "");
  EXPECT_NE(refusal({.language = ConstraintLanguage::regex, .text = "(", .choices = {}}).find("line 1"),
            std::string::npos);
  EXPECT_NE(
      refusal({.language = ConstraintLanguage::gbnf, .text = "root ::= <x>", .choices = {}}).find("without a model"),
      std::string::npos);
}

TEST(ConstraintSource, NamesGoBothWays) {
  for (const auto language : {ConstraintLanguage::gbnf, ConstraintLanguage::regex, ConstraintLanguage::choice,
                              ConstraintLanguage::json_schema}) {
    EXPECT_EQ(find_constraint_language(constraint_language_name(language)), language);
  }
  EXPECT_EQ(find_constraint_language("ebnf"), std::nullopt);
}

}  // namespace
}  // namespace plm
