#include "constraint/token_constraint.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>

#include "constraint/gbnf_parser.h"
#include "constraint/regex_parser.h"
#include "constraint/small_vocabulary.h"

namespace plm {
namespace {

constexpr std::string_view kJson =
    "root ::= value\n"
    "value ::= object | array | string | number | \"true\" | \"null\"\n"
    "object ::= \"{\" (pair (\",\" pair)*)? \"}\"\n"
    "pair ::= string \":\" value\n"
    "array ::= \"[\" (value (\",\" value)*)? \"]\"\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" [\"\\\\nt])* \"\\\"\"\n"
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]*)";

std::shared_ptr<TokenConstraint> constraint_of(Result<Grammar> grammar) {
  EXPECT_TRUE(grammar.has_value()) << (grammar ? "" : grammar.error().message);
  auto constraint = TokenConstraint::create(std::move(*grammar), small_vocabulary());
  EXPECT_TRUE(constraint.has_value());
  return *constraint;
}

std::shared_ptr<TokenConstraint> regex_constraint(std::string_view expression) {
  GrammarBuilder builder;
  const RuleId root = builder.declare("root");
  builder.define(root, builder.regular(*parse_regex(builder.store(), expression)));
  return constraint_of(builder.finish(root));
}

// Every token is allowed exactly if its bytes lead somewhere, and the end token where the text may end.
void expect_exact(TokenConstraint& constraint, StateId state) {
  const auto mask = constraint.mask(state);
  ASSERT_TRUE(mask.has_value());
  const TokenTrie& trie = constraint.trie();
  for (std::size_t id = 0; id < trie.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    const bool is_end = token == trie.end_tokens()[0];
    const bool fits = is_end ? constraint.accepts(state) : constraint.step(state, trie.text(token)) != StateId::dead;
    EXPECT_EQ((*mask)->allowed.contains(token), fits) << "token '" << trie.text(token) << "'";
    if (is_end || !fits) continue;
    const StateId next = *constraint.advance(state, token);
    EXPECT_LE(constraint.shortest(next), constraint.shortest(state) + (*mask)->growth) << trie.text(token);
  }
}

void walk_at_random(TokenConstraint& constraint, std::uint32_t seed, int texts) {
  std::mt19937 random(seed);
  for (int text = 0; text < texts; ++text) {
    StateId state = constraint.start();
    for (int length = 0; length < 30; ++length) {
      expect_exact(constraint, state);
      const auto mask = *constraint.mask(state);
      std::vector<TokenId> allowed;
      mask->allowed.for_each([&](TokenId id) { allowed.push_back(id); });
      ASSERT_FALSE(allowed.empty());
      const TokenId token = allowed[random() % allowed.size()];
      if (token == constraint.trie().end_tokens()[0]) break;
      state = *constraint.advance(state, token);
    }
  }
}

TEST(TokenConstraint, MasksAreExact) {
  walk_at_random(*constraint_of(parse_gbnf(kJson)), 1, 20);
  walk_at_random(*regex_constraint(R"([a-z ]{3,200}(\.[a-z]+)?)"), 2, 10);
  walk_at_random(*regex_constraint(R"("([^"\\]|\\["n]){0,12}")"), 3, 10);
  walk_at_random(*regex_constraint(R"(.{20,25}|\d+)"), 4, 10);
  walk_at_random(*constraint_of(parse_gbnf("root ::= [^\"]* \"\\\"\" root | \"ab\"{3,7}")), 5, 10);
}

TEST(TokenConstraint, IntersectionsAndExclusionsAreExact) {
  GrammarBuilder builder;
  RegularStore& store = builder.store();
  const Regular word = *parse_regex(store, "[a-z]*", {.search = false});
  const Regular few = store.repeat(store.any_character(), 2, 20);
  const Regular not_these = store.complement(store.literals({"abc", "null", "true"}));
  const RuleId root = builder.declare("root");
  builder.define(root,
                 builder.sequence({builder.literal("\""), builder.regular(store.intersect({word, few, not_these})),
                                   builder.literal("\"")}));
  walk_at_random(*constraint_of(builder.finish(root)), 6, 30);
}

// Where almost everything fits, the mask is made by taking out.
TEST(TokenConstraint, ExcludedNamesAreTakenOut) {
  GrammarBuilder builder;
  RegularStore& store = builder.store();
  const Regular name = *parse_regex(store, R"(([^"\\\x00-\x1F]|\\["\\n])*)", {.search = false});
  const Regular others = store.difference(name, store.literals({"abc", "null", "name", "hello world"}));
  const RuleId root = builder.declare("root");
  builder.define(root, builder.sequence({builder.literal("\""), builder.regular(others), builder.literal("\":")}));
  walk_at_random(*constraint_of(builder.finish(root)), 7, 30);
}

TEST(TokenConstraint, CountersShareMasks) {
  const auto constraint = regex_constraint("[a-z]{0,5000}");
  StateId state = constraint->start();
  const auto first = *constraint->mask(state);
  for (int i = 0; i < 1000; ++i) state = *constraint->advance(state, 'a');
  EXPECT_EQ((*constraint->mask(state)).get(), first.get());
}

TEST(TokenConstraint, TokenLiteralsStandBesideBytes) {
  const auto constraint = constraint_of(parse_gbnf("root ::= <[279]> !<[279]>* <[279]> | \"a\" <[260]>"));
  const StateId start = constraint->start();
  const auto mask = *constraint->mask(start);
  EXPECT_EQ(mask->allowed.count(), 2U);
  const StateId inside = *constraint->advance(start, 279);
  EXPECT_TRUE((*constraint->mask(inside))->allowed.contains(279));
  EXPECT_TRUE((*constraint->mask(inside))->allowed.contains(5));
  EXPECT_TRUE(constraint->accepts(*constraint->advance(inside, 279)));
  EXPECT_EQ(constraint->closing(inside)->size(), 1U);
  const StateId after_a = *constraint->advance(start, 'a');
  EXPECT_EQ((*constraint->mask(after_a))->allowed.count(), 1U);
}

TEST(TokenConstraint, ForcedTextIsWhatMustCome) {
  const auto constraint = constraint_of(parse_gbnf("root ::= \"{\\\"name\\\":\" (\"true\" | \"tiny\") \"}\""));
  EXPECT_EQ(constraint->forced(constraint->start(), 100), "{\"name\":t");
  EXPECT_EQ(constraint->forced(constraint->start(), 3), "{\"n");
}

TEST(TokenConstraint, ThreadsMayShareIt) {
  const auto constraint = constraint_of(parse_gbnf(kJson));
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&constraint, i] {
      std::mt19937 random(i);
      StateId state = constraint->start();
      for (int n = 0; n < 300; ++n) {
        std::vector<TokenId> allowed;
        (*constraint->mask(state))->allowed.for_each([&](TokenId id) { allowed.push_back(id); });
        const TokenId token = allowed[random() % allowed.size()];
        state = token == constraint->trie().end_tokens()[0] ? constraint->start() : *constraint->advance(state, token);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace plm
