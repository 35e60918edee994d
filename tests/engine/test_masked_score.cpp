#include "engine/masked_score.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "engine_runs.h"

namespace plm {
namespace {

constexpr const char* kMasked = PLM_MODELS "/twin-mdm.gguf";

Task<Result<double>> sum_of(Session& session, std::vector<TokenId> shown, std::vector<TokenId> truth,
                            std::vector<std::size_t> hidden, TokenId mask) {
  std::vector<Yield> yields;
  for (const std::size_t at : hidden) {
    shown[at] = mask;
    yields.push_back({.row = static_cast<std::uint32_t>(at), .kind = YieldKind::logits});
  }
  const PassRequest request{
      .tokens = shown, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields};
  const Result<PassAnswer> answer = co_await session.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  double sum = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const std::vector<float>& logits = answer->results[i].values;
    double total = 0;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (static_cast<TokenId>(id) != mask) total += std::exp(double{logits[id]});
    }
    sum += double{logits[static_cast<std::size_t>(truth[hidden[i]])]} - std::log(total);
  }
  co_return sum;
}

// The bound itself, from every way to hide some of the text's tokens; and the sum over single hidden tokens.
struct Exact {
  double bound = 0, pseudo = 0;

  Exact(Engine& engine, const std::vector<TokenId>& given, const std::vector<TokenId>& text) {
    std::vector<TokenId> all = given;
    all.insert(all.end(), text.begin(), text.end());
    const std::size_t length = text.size();
    std::vector<double> sums(length + 1), counts(length + 1);
    for (unsigned subset = 1; subset < (1U << length); ++subset) {
      std::vector<std::size_t> hidden;
      for (std::size_t i = 0; i < length; ++i) {
        if ((subset >> i & 1U) != 0) hidden.push_back(given.size() + i);
      }
      const auto session = engine.open_session();
      auto task = sum_of(*session, all, all, hidden, engine.diffusion()->mask_token);
      task.start();
      EXPECT_TRUE(engine.run().has_value());
      sums[hidden.size()] += task.take().value();
      counts[hidden.size()] += 1;
    }
    pseudo = sums[1];
    for (std::size_t hidden = 1; hidden <= length; ++hidden) {
      bound += sums[hidden] / counts[hidden] / static_cast<double>(hidden);
    }
  }
};

TEST(MaskedScore, TheBoundIsTheMeanOverAllWaysToHideTokens) {
  const auto engine = load_engine(kMasked);
  const std::vector<TokenId> given = encoded(*engine, "A385+739=");
  for (const std::string answer : {"1124", "11", "9", "00713"}) {
    const std::vector<TokenId> text(answer.begin(), answer.end());
    const Exact exact(*engine, given, text);
    const BoundEstimate found = score_bound(*engine, given, text, {.draws = 600, .seed = 1}).value();
    EXPECT_EQ(found.tokens, text.size());
    EXPECT_NEAR(found.log_probability, exact.bound, 4 * found.standard_error + 1e-4) << answer;
    double pseudo = 0;
    const auto hear = [&](const ScoredPosition& position) { pseudo += *position.log_probability; };
    const Score score = score_pseudo(*engine, given, text, hear).value();
    EXPECT_NEAR(score.log_probability_sum, exact.pseudo, 1e-3);
    EXPECT_DOUBLE_EQ(score.log_probability_sum, pseudo);
    EXPECT_EQ(score.tokens, text.size());
  }
}

TEST(MaskedScore, TheStandardErrorIsThatOfTheEstimate) {
  const auto engine = load_engine(kMasked);
  const std::vector<TokenId> given = encoded(*engine, "A385+739="), text = {'0', '0', '7', '1', '3'};
  const Exact exact(*engine, given, text);
  constexpr int kSeeds = 60;
  double squares = 0, claimed = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const BoundEstimate found = score_bound(*engine, given, text, {.draws = 32, .seed = seed}).value();
    EXPECT_EQ(found.passes, 32U);
    squares += (found.log_probability - exact.bound) * (found.log_probability - exact.bound) / kSeeds;
    claimed += found.standard_error * found.standard_error / kSeeds;
  }
  EXPECT_NEAR(squares / claimed, 1.0, 0.55);  // the spread of a variance from 60 numbers is 0.18
}

TEST(MaskedScore, OneTokenIsExactInOnePass) {
  const auto engine = load_engine(kMasked);
  const BoundEstimate found = score_bound(*engine, encoded(*engine, "A385+739=112"), std::vector<TokenId>{'4'}).value();
  EXPECT_EQ(found.passes, 1U);
  EXPECT_EQ(found.standard_error, 0);
  EXPECT_GT(found.log_probability, std::log(0.5));
}

TEST(MaskedScore, EqualSeedsGiveEqualBitsAndRightAnswersAreLikelier) {
  const auto engine = load_engine(kMasked), two = load_engine(kMasked, {}, {.threads = 2});
  const std::vector<TokenId> given = encoded(*engine, "A385+739="), right = {'1', '1', '2', '4'},
                             wrong = {'1', '2', '2', '4'};
  const BoundEstimate a = score_bound(*engine, given, right).value(), b = score_bound(*two, given, right).value();
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.standard_error, b.standard_error);
  EXPECT_GT(a.log_probability, score_bound(*engine, given, wrong).value().log_probability);
}

TEST(MaskedScore, BlocksAreScoredBehindWhatIsBeforeThem) {
  const auto engine = load_engine(PLM_MODELS "/twin-tri.gguf");
  const std::vector<TokenId> given = encoded(*engine, "Thot hev:");
  const std::string answer = "Ben has a hot hev. Ben fed his hev.";
  const std::vector<TokenId> text(answer.begin(), answer.end());
  const BoundEstimate whole = score_bound(*engine, given, text, {.draws = 16}).value();
  EXPECT_EQ(whole.tokens, text.size());
  EXPECT_EQ(whole.passes, (text.size() + 7) / 8 * 16 - (text.size() % 8 == 1 ? 15 : 0));
  const BoundEstimate first = score_bound(*engine, given, std::span(text).first(8), {.draws = 16}).value();
  std::vector<TokenId> longer = given;
  longer.insert(longer.end(), text.begin(), text.begin() + 8);
  const BoundEstimate rest = score_bound(*engine, longer, std::span(text).subspan(8), {.draws = 16}).value();
  EXPECT_NEAR(whole.log_probability, first.log_probability + rest.log_probability, 1e-9);
}

// One block behind remembered tokens, whose first is spoken for from there: its log-probability, and those of `hidden`,
// places in the block behind the first.
Task<Result<std::vector<double>>> by_hand(Session& session, std::vector<TokenId> given, std::vector<TokenId> block,
                                          std::vector<std::size_t> hidden, TokenId mask) {
  const auto log_probability = [](const PassAnswer& answer, std::size_t yield, TokenId token) {
    return double{answer.results[yield].values[static_cast<std::size_t>(token)]} - answer.statistics[yield].log_sum_exp;
  };
  const std::vector<Yield> last = {
      {.row = static_cast<std::uint32_t>(given.size() - 1), .kind = YieldKind::logits, .without = mask}};
  const PassRequest reading{.tokens = given, .yields = last};
  const Result<PassAnswer> read = co_await session.pass(reading);
  if (!read.has_value()) co_return tl::unexpected<Error>(read.error());
  std::vector<double> found = {log_probability(*read, 0, block.front())};
  std::vector<TokenId> shown = block;
  std::vector<Yield> yields;
  for (const std::size_t at : hidden) {
    shown[at] = mask;
    yields.push_back({.row = static_cast<std::uint32_t>(at - 1), .kind = YieldKind::logits, .without = mask});
  }
  const PassRequest filling{
      .tokens = shown, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields};
  const Result<PassAnswer> filled = co_await session.pass(filling);
  if (!filled.has_value()) co_return tl::unexpected<Error>(filled.error());
  for (std::size_t i = 0; i < hidden.size(); ++i) found.push_back(log_probability(*filled, i, block[hidden[i]]));
  co_return found;
}

TEST(MaskedScore, WhereARowSpeaksForTheNextTheFirstTokenOfABlockHasItsProbability) {
  const auto engine = load_engine(PLM_MODELS "/twin-tri.gguf", {.overrides = {"diffusion.shift_logits=true"}});
  const std::vector<TokenId> given = encoded(*engine, "A385+739="), text = {'1', '1', '2', '4'};
  const auto reveal = [&](const std::vector<std::size_t>& hidden) {
    const auto session = engine->open_session();
    auto task = by_hand(*session, given, text, hidden, engine->diffusion()->mask_token);
    task.start();
    EXPECT_TRUE(engine->run().has_value());
    return task.take().value();
  };
  const double first = reveal({1}).front();
  double pseudo = first, bound = first;
  for (unsigned subset = 1; subset < 8; ++subset) {
    std::vector<std::size_t> hidden;
    for (std::size_t i = 0; i < 3; ++i) {
      if ((subset >> i & 1U) != 0) hidden.push_back(i + 1);
    }
    const std::vector<double> found = reveal(hidden);
    double sum = 0;
    for (std::size_t i = 1; i < found.size(); ++i) sum += found[i];
    if (hidden.size() == 1) pseudo += sum;
    const double ways = hidden.size() == 3 ? 1 : 3;
    bound += sum / ways / static_cast<double>(hidden.size());
  }
  std::vector<double> told;
  const auto hear = [&](const ScoredPosition& position) { told.push_back(*position.log_probability); };
  const Score score = score_pseudo(*engine, given, text, hear).value();
  EXPECT_NEAR(score.log_probability_sum, pseudo, 1e-5);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_NEAR(told.front(), first, 1e-6);
  const BoundEstimate estimate = score_bound(*engine, given, text, {.draws = 400}).value();
  EXPECT_EQ(estimate.tokens, 4U);
  EXPECT_NEAR(estimate.log_probability, bound, 4 * estimate.standard_error + 1e-4);
  // Of two blocks the second's first token is spoken for by the first's last.
  std::vector<TokenId> longer = given;
  longer.insert(longer.end(), {'1', '1', '2', '4', '0', '0', '0', '0'});
  const BoundEstimate ninth = score_bound(*engine, longer, std::vector<TokenId>{'7'}).value();
  EXPECT_EQ(ninth.passes, 0U) << "no mask was needed";
  EXPECT_EQ(ninth.tokens, 1U);
  EXPECT_EQ(ninth.standard_error, 0);
}

TEST(MaskedScore, WhatCannotBeSaysWhatCan) {
  const auto causal = load_engine(PLM_MODELS "/twin-ar.gguf");
  EXPECT_EQ(score_bound(*causal, {}, std::vector<TokenId>{'a'}).error().kind, ErrorKind::usage);
  const auto engine = load_engine(kMasked);
  EXPECT_EQ(score_bound(*engine, {}, {}).error().kind, ErrorKind::usage);
  const BoundEstimate nothing = score_bound(*engine, std::vector<TokenId>{'a'}, {}).value();
  EXPECT_EQ(nothing.tokens, 0U);
  EXPECT_EQ(nothing.log_probability, 0);
  int asked = 0;
  const auto stopped = score_bound(*engine, {}, std::vector<TokenId>{'a', 'b'}, {}, {}, [&] { return ++asked > 3; });
  EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace plm
