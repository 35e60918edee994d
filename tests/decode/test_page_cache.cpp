// Which rows the caches compute, keep and read, and that a made-up network, whose keys and values do not change with
// what stands around them, is read by all of them as without. Also covers src/decode/page_memory.cpp.
#include "decode/page_cache.h"

#include <gtest/gtest.h>

#include <numeric>

#include "decode/decoder.h"
#include "page_session.h"
#include "tiny_vocabulary.h"

namespace plm {
namespace {

using Kind = PageCacheRule::Kind;
using Positions = std::vector<std::uint32_t>;

// Two given cells, then `open` ones, of which those named are decided.
std::vector<Cell> page(std::size_t open, std::initializer_list<std::size_t> decided = {}) {
  std::vector<Cell> cells;
  for (CellId id = 0; id < 2 + open; ++id) {
    cells.push_back({id, id < 2 ? CellStatus::given : CellStatus::open, kTurn});
  }
  for (const std::size_t at : decided) cells[at].status = CellStatus::committed;
  return cells;
}

TEST(PageCache, PrefixComputesTheBlockAndAllBehindIt) {
  PageCache cache({.kind = Kind::prefix});
  const PageCache::Pass first = cache.next(page(6), {4, 2, 1});
  EXPECT_TRUE(first.begins_anew);
  EXPECT_EQ(first.positions, (Positions{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(first.kept, 4U);
  const PageCache::Pass second = cache.next(page(6, {4}), {4, 2, 1});
  EXPECT_FALSE(second.begins_anew);
  EXPECT_EQ(second.positions, (Positions{4, 5, 6, 7}));
  EXPECT_EQ(second.kept, 0U);
  EXPECT_TRUE(cache.next(page(6, {4, 5}), {6, 2, 1}).begins_anew) << "another block";
}

TEST(PageCache, DualComputesTheBlockAlone) {
  PageCache cache({.kind = Kind::dual});
  const PageCache::Pass first = cache.next(page(6), {4, 2, 1});
  EXPECT_EQ(first.positions, (Positions{0, 1, 2, 3, 6, 7, 4, 5}));
  EXPECT_EQ(first.kept, 6U);
  EXPECT_EQ(cache.next(page(6), {4, 2, 1}).positions, (Positions{4, 5}));
}

TEST(PageCache, DelayedKeepsATokenOnceAPassHasSeenItDecided) {
  PageCache cache({.kind = Kind::delayed});
  const PageCache::Pass first = cache.next(page(4), {2, 4, 1});
  EXPECT_EQ(first.positions, (Positions{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(first.kept, 2U);
  const PageCache::Pass second = cache.next(page(4, {4}), {2, 4, 1});
  EXPECT_EQ(second.positions, (Positions{4, 2, 3, 5}));
  EXPECT_EQ(second.kept, 1U);
  EXPECT_EQ(cache.next(page(4, {4}), {2, 4, 1}).positions, (Positions{2, 3, 5}));
  EXPECT_FALSE(cache.next(page(4, {4, 2}), {4, 2, 1}).begins_anew) << "blocks do not matter";
}

TEST(PageCache, WhatSpeaksForAnOpenPositionIsComputedWithIt) {
  PageCache dual({.kind = Kind::dual, .shifts_logits = true});
  EXPECT_EQ(dual.next(page(4), {4, 2, 1}).kept, 3U);
  EXPECT_EQ(dual.next(page(4), {4, 2, 1}).positions, (Positions{3, 4, 5}));
  PageCache delayed({.kind = Kind::delayed, .shifts_logits = true});
  EXPECT_EQ(delayed.next(page(4, {3}), {2, 4, 1}).kept, 1U) << "the second given cell speaks for the third cell";
  EXPECT_EQ(delayed.next(page(4, {3, 4}), {2, 4, 1}).positions, (Positions{3, 1, 2, 4, 5}));
}

TEST(PageCache, IsComputedAnewAndMeasuredAsOftenAsAsked) {
  PageCache cache({.kind = Kind::prefix, .refresh = 3, .meter = 2});
  std::string told;
  for (int i = 0; i < 9; ++i) {
    const PageCache::Pass pass = cache.next(page(4), {2, 4, 1});
    told += pass.begins_anew ? 'n' : pass.is_measured ? 'm' : '-';
  }
  EXPECT_EQ(told, "n-m-nm-mn");
}

// Wants at each position the letter behind that of the position before, as far as that is decided.
std::vector<float> alphabet(std::span<const TokenId> tokens, std::size_t position) {
  std::vector<float> logits(kTinyVocabularySize, 0.0F);
  const TokenId before = tokens[position - 1];
  const TokenId wanted = before == kA ? kB : before == kB ? kC : kA;
  logits[static_cast<std::size_t>(wanted)] = before == kTurn ? 1 : 9;
  return logits;
}

struct Written {
  std::vector<TokenId> tokens;
  std::vector<Event> events;
  std::vector<std::size_t> rows;
};

Written write(std::initializer_list<std::pair<const char*, const char*>> parameters, bool shifts_logits = false,
              const char* decoder = "diffusion") {
  Settings settings(parallel_parameters());
  for (const auto& [name, value] : parameters) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  const ParallelPolicy policy =
      ParallelPolicy::create(settings, {.shifts_logits = shifts_logits, .mask_token = kTurn}).value();
  DecodeJob job{.chain = Chain::create(Settings(sampling_parameters())).value(),
                .text = TextStream(tiny_vocabulary()),
                .max_tokens = 12,
                .parallel = &policy};
  for (const TokenId token : {kC, kA}) job.canvas.append_given(token);
  const auto network = [&](std::span<const TokenId> tokens, std::size_t row) {
    return alphabet(tokens, shifts_logits ? row + 1 : row);
  };
  PageSession session(network, 200);
  auto task = find_decoder(decoder)->run(session, job);
  task.start();
  EXPECT_TRUE(session.serve(100));
  const auto outcome = task.take();
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  return {outcome.has_value() ? outcome->tokens : std::vector<TokenId>(), session.events, session.rows};
}

TEST(PageCache, EveryKindWritesThePageInFewerRows) {
  for (const bool shifts : {false, true}) {
    const Written exact = write({{"block_length", "4"}}, shifts);
    ASSERT_EQ(exact.tokens.size(), 12U);
    EXPECT_EQ(exact.tokens.front(), kB);
    for (const char* kind : {"prefix", "dual", "delayed"}) {
      for (const char* refresh : {"0", "2"}) {
        SCOPED_TRACE(fmt::format("{}, refresh {}, shifts {}", kind, refresh, shifts));
        const Written cached =
            write({{"block_length", "4"}, {"page_cache", kind}, {"page_cache_refresh", refresh}}, shifts);
        EXPECT_EQ(cached.tokens, exact.tokens);
        std::size_t computed = 0;
        for (const Event& event : cached.events) {
          if (event.kind == EventKind::pass_ran) computed += event.rows;
        }
        EXPECT_LT(computed, std::reduce(exact.rows.begin(), exact.rows.end()));
      }
    }
  }
}

TEST(PageCache, TheMeterFindsNothingWhereNothingChangesAndChangesNothing) {
  const Written cached = write({{"page_cache", "delayed"}, {"page_cache_meter", "1"}});
  const Written unmeasured = write({{"page_cache", "delayed"}, {"page_cache_meter", "0"}});
  EXPECT_EQ(cached.tokens, unmeasured.tokens);
  std::size_t passes = 0, measured = 0;
  for (const Event& event : cached.events) {
    if (event.kind == EventKind::pass_ran) ++passes;
    if (event.kind != EventKind::drifted) continue;
    ++measured;
    EXPECT_GT(event.rows, 0U);
    EXPECT_EQ(event.score, 0);
    EXPECT_EQ(event.probability, 0);
  }
  EXPECT_EQ(measured, passes - 1) << "all but the first";
}

TEST(PageCache, IsRefusedWhereItDoesNotFit) {
  Settings settings(parallel_parameters());
  ASSERT_TRUE(settings.set_text("page_cache", "dual").has_value());
  const auto refusal = ParallelPolicy::create(
      settings, {.attention = DiffusionAttention::block_causal, .block_length = 4, .mask_token = kTurn});
  ASSERT_FALSE(refusal.has_value());
  EXPECT_NE(refusal.error().message.find("exactly"), std::string::npos);
}

}  // namespace
}  // namespace plm
