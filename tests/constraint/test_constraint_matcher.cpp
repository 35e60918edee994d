#include "constraint/constraint_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "constraint/gbnf_parser.h"
#include "constraint/small_vocabulary.h"

namespace plm {
namespace {

constexpr std::string_view kObject =
    "root ::= \"{\\\"name\\\":\" string \",\\\"list\\\":[\" root (\",\" root)* \"]}\" | \"null\"\n"
    "string ::= \"\\\"\" [^\"]{2,} \"\\\"\"";

std::shared_ptr<TokenConstraint> constraint_of(std::string_view gbnf) {
  auto grammar = parse_gbnf(gbnf);
  EXPECT_TRUE(grammar.has_value());
  return *TokenConstraint::create(std::move(*grammar), small_vocabulary());
}

// Whatever is drawn, the text is complete when the tokens are used up.
TEST(ConstraintMatcher, TheBudgetClosesTheText) {
  const auto constraint = constraint_of(kObject);
  const TokenId end = constraint->trie().end_tokens()[0];
  std::mt19937 random(5);
  int cut = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t budget = 1 + random() % 60;
    ConstraintMatcher matcher(constraint);
    ASSERT_TRUE(matcher.check_budget(budget).has_value());
    std::string text;
    bool ended = false;
    for (std::size_t left = budget; left > 0 && !ended; --left) {
      const auto bits = matcher.allowed(left);
      ASSERT_TRUE(bits.has_value()) << text << ": " << bits.error().message;
      std::vector<TokenId> allowed;
      bits->for_each([&](TokenId id) { allowed.push_back(id); });
      const TokenId token = allowed[random() % allowed.size()];
      ended = token == end;
      if (ended) break;
      text += constraint->trie().text(token);
      ASSERT_TRUE(matcher.accept(token).has_value());
    }
    EXPECT_TRUE(matcher.accepts()) << text;
    cut += ended ? 0 : 1;
  }
  EXPECT_GT(cut, 50);
}

TEST(ConstraintMatcher, ABudgetThatCannotDoIsRefused) {
  const auto constraint = constraint_of("root ::= \"123\" \"abc\" \"hello world\"");
  EXPECT_TRUE(ConstraintMatcher(constraint).check_budget(3).has_value());
  const auto refused = ConstraintMatcher(constraint).check_budget(2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfiable);
  EXPECT_NE(refused.error().message.find("3 tokens"), std::string::npos);
  EXPECT_TRUE(ConstraintMatcher(constraint, false).check_budget(2).has_value());
}

TEST(ConstraintMatcher, TokensCanBeTakenBack) {
  const auto constraint = constraint_of(kObject);
  ConstraintMatcher matcher(constraint);
  const auto before = *matcher.allowed(100);
  ASSERT_TRUE(matcher.accept('{').has_value());
  ASSERT_TRUE(matcher.accept('"').has_value());
  EXPECT_FALSE(matcher.accept('x').has_value());
  matcher.roll_back(2);
  EXPECT_EQ(matcher.size(), 0U);
  EXPECT_EQ(*matcher.allowed(100), before);
}

TEST(ConstraintMatcher, ForcedTokensThatMightMergeAreLeftOpen) {
  // "name\":" is forced, but a longer token may begin with what stands last.
  const auto constraint = constraint_of("root ::= \"name\" [a-z]* | \"name\" \"\\\":null\"");
  ConstraintMatcher matcher(constraint);
  EXPECT_EQ(matcher.forced(100), "name");
  const auto texts = small_vocabulary_texts();
  const auto id = [&](std::string_view text) {
    return static_cast<TokenId>(std::find(texts.begin(), texts.end(), text) - texts.begin());
  };
  EXPECT_EQ(matcher.settled({id("name")}), std::vector<TokenId>{id("name")});
  const auto nested = constraint_of("root ::= \"ab\" (\"c\" | \"d\")");
  EXPECT_EQ(ConstraintMatcher(nested).settled({id("ab")}), std::vector<TokenId>{});
}

}  // namespace
}  // namespace plm
