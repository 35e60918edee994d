// The memory of src/sampling/chain.cpp: forks, roll-backs and files continue exactly as if nothing had happened.
#include <gtest/gtest.h>

#include <cmath>

#include "sampling/golden_cases.h"

namespace plm {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

const std::vector<Values>& stateful_chains() {
  static const std::vector<Values> chains = {
      {{"samplers", "penalties;dry;top_k;xtc;temperature"},
       {"repeat_penalty", "1.3"},
       {"frequency_penalty", "0.2"},
       {"repeat_last_n", "16"},
       {"dry_multiplier", "0.8"},
       {"top_k", "12"},
       {"xtc_probability", "0.5"}},
      {{"samplers", "min_p;adaptive_p"}, {"min_p", "0.02"}, {"adaptive_target", "0.3"}},
      {{"samplers", "temperature;mirostat"}, {"mirostat", "2"}, {"mirostat_tau", "3"}},
      {{"samplers", "mirostat"}, {"mirostat", "1"}},
      {{"samplers", "xtc;adaptive_p"}, {"xtc_probability", "0.5"}, {"adaptive_target", "0.4"}, {"rng", "mt19937"}},
      {{"samplers", "xtc;temperature"}, {"xtc_probability", "0.5"}, {"rng", "mt19937"}}};
  return chains;
}

std::vector<float> row_at(std::size_t position) {
  std::vector<float> row(50);
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    row[i] = 6 * static_cast<float>(uniform({.seed = 3, .cell = static_cast<std::uint32_t>(position % 5), .draw = i}));
  }
  return row;
}

// Writes `count` tokens; what was chosen, with its probability.
std::vector<std::pair<std::int32_t, double>> write(Chain& chain, std::size_t count) {
  std::vector<std::pair<std::int32_t, double>> written;
  Candidates workspace;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t position = chain.history().tokens.size();
    const DrawPlace place{.seed = 8, .cell = static_cast<std::uint32_t>(position)};
    const auto selection = chain.select(row_at(position), place, workspace);
    EXPECT_TRUE(selection);
    chain.accept(selection->id);
    written.emplace_back(selection->id, selection->probability);
  }
  return written;
}

TEST(ChainState, AForkGoesOnAlikeAndApart) {
  for (const Values& values : stateful_chains()) {
    Chain chain = chain_of(values);
    chain.begin(std::vector<std::int32_t>{1, 2, 3, 1, 2});
    write(chain, 30);
    Chain fork = chain;
    const auto there = write(fork, 30);
    write(fork, 7);
    EXPECT_EQ(write(chain, 30), there);
  }
}

TEST(ChainState, AForkBetweenSelectAndAcceptIsExact) {
  for (const Values& values : stateful_chains()) {
    Chain chain = chain_of(values);
    Candidates workspace;
    const auto selection = chain.select(row_at(0), {.seed = 8}, workspace);
    ASSERT_TRUE(selection);
    Chain fork = chain;
    fork.accept(selection->id);
    chain.accept(selection->id);
    EXPECT_EQ(write(fork, 20), write(chain, 20));
  }
}

TEST(ChainState, RollingBackUndoesEverything) {
  for (const Values& values : stateful_chains()) {
    Chain chain = chain_of(values);
    chain.begin(std::vector<std::int32_t>{4, 4, 4});
    write(chain, 20);
    const std::size_t length = chain.history().tokens.size();
    const auto first = write(chain, 25);
    chain.roll_back(length);
    chain.accept(17);  // a draft that turns out wrong
    chain.accept(18);
    chain.roll_back(length);
    EXPECT_EQ(write(chain, 25), first);
    chain.roll_back(3);
    EXPECT_EQ(chain.history().written(), 0U);
  }
}

TEST(ChainState, SelectingTwiceIsSelectingOnce) {
  for (const Values& values : stateful_chains()) {
    Chain once = chain_of(values);
    Chain twice = chain_of(values);
    Candidates workspace;
    write(once, 10);
    write(twice, 10);
    ASSERT_TRUE(twice.select(row_at(99), {.seed = 77}, workspace));
    EXPECT_EQ(write(once, 10), write(twice, 10));
  }
}

TEST(ChainState, AFileCarriesItExactly) {
  for (const Values& values : stateful_chains()) {
    Chain chain = chain_of(values);
    chain.begin(std::vector<std::int32_t>{1, 2, 3});
    write(chain, 40);
    const std::string text = json_text(chain.save());
    Chain other = chain_of(values);
    const auto restored = other.restore(parse_json(text, "state").value());
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(write(other, 30), write(chain, 30));
    other.roll_back(3);
    EXPECT_EQ(other.history().written(), 0U);
  }
}

TEST(ChainState, RefusesWhatIsNotItsState) {
  Chain chain = chain_of(stateful_chains()[4]);
  write(chain, 3);
  const Json saved = chain.save();
  const auto refused = [&](const char* key, const Json& value) {
    Json changed = saved;
    changed[key] = value;
    const auto restored = chain.restore(changed);
    return !restored && restored.error().kind == ErrorKind::bad_input;
  };
  EXPECT_TRUE(chain.restore(saved));
  EXPECT_FALSE(chain.restore(Json::array()));
  EXPECT_FALSE(chain.restore(Json::object()));
  EXPECT_TRUE(refused("samplers", Json::array()));
  EXPECT_TRUE(refused("rng", "philox"));
  EXPECT_TRUE(refused("tokens", Json::array({1, 2})));
  EXPECT_TRUE(refused("tokens", Json::array({1, 2, -3})));
  EXPECT_TRUE(refused("tokens", Json::array({1, 2, 3e10})));
  EXPECT_TRUE(refused("tokens", "123"));
  EXPECT_TRUE(refused("prompt_length", 4));
  EXPECT_TRUE(refused("prompt_length", -1));
  EXPECT_TRUE(refused("states", Json::array({1, 2, "x"})));
  Json counts = saved["states"];
  counts.back() = 1e18;  // words of a Mersenne stream
  EXPECT_TRUE(refused("states", counts));
  counts.back() = 0.5;
  EXPECT_TRUE(refused("states", counts));
}

TEST(ChainState, TakesRoomForTokensNotForTheVocabulary) {
  Chain chain = chain_of(stateful_chains()[1]);
  Candidates workspace;
  const std::vector<float> row(100'000, 1.0F);
  for (std::uint32_t cell = 0; cell < 10; ++cell) {
    const auto selection = chain.select(row, {.cell = cell}, workspace);
    ASSERT_TRUE(selection);
    chain.accept(selection->id);
  }
  EXPECT_LT(json_text(chain.save()).size(), 2000U);
}

}  // namespace
}  // namespace plm
