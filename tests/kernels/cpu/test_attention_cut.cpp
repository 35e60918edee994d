#include "kernels/cpu/attention_cut.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace plm {
namespace {

/// Work for causal rows that see `ends` slots; without numbers.
struct CutCase {
  std::vector<RowSight> rows;
  AttentionWork work;

  CutCase(const std::vector<std::uint32_t>& ends, std::size_t kv_heads, std::size_t group, int threads) {
    for (const std::uint32_t end : ends) rows.push_back({.end = end});
    work = {.queries = {nullptr, ends.size(), kv_heads * group * 8, kv_heads * group * 8},
            .table = {.rows = rows, .pages = {}, .own_bits = {}},
            .place = {.kv_heads = kv_heads, .head_dim = 8},
            .rule = 1,
            .out = {}};
    cut_attention(work, threads);
  }
};

std::vector<std::uint32_t> prompt(std::uint32_t count) {
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 1; i <= count; ++i) ends.push_back(i);
  return ends;
}

TEST(AttentionCut, BlocksHoldEveryQueryOnce) {
  for (const std::uint32_t rows : {1U, 5U, 64U, 513U}) {
    for (const int threads : {1, 2, 16}) {
      const CutCase c(prompt(rows), 2, 3, threads);
      std::vector<int> met(2 * rows * 3);
      for (std::size_t unit = 0; unit < c.work.units(); ++unit) {
        const QueryBlock block = query_block(c.work, unit);
        ASSERT_LE(block.end - block.begin, kMostBlockQueries);
        for (std::size_t q = block.begin; q < block.end; ++q) ++met[block.kv_head * rows * 3 + q];
      }
      EXPECT_EQ(met, std::vector<int>(met.size(), 1)) << rows << " rows, threads: " << threads;
    }
  }
}

TEST(AttentionCut, ThreadsGetAboutTheSameOfAPrompt) {
  const CutCase c(prompt(512), 3, 3, 2);
  std::vector<double> cells(2);
  for (const int member : {0, 1}) {
    const Share share = share_of(c.work.units(), member, 2);
    for (std::size_t unit = share.begin; unit < share.end; ++unit) {
      const QueryBlock block = query_block(c.work, unit);
      for (std::size_t q = block.begin; q < block.end; ++q)
        cells[static_cast<std::size_t>(member)] += c.rows[q / 3].end;
    }
  }
  EXPECT_NEAR(cells[0] / cells[1], 1, 0.05);
}

TEST(AttentionCut, OnlyFewQueriesOnManyPagesAreCutByPages) {
  EXPECT_EQ(CutCase({2048}, 3, 3, 2).work.page_count, 8U);
  EXPECT_EQ(CutCase({2048, 300}, 3, 3, 4).work.page_count, 10U);
  EXPECT_EQ(CutCase({2048}, 3, 3, 1).work.page_count, 0U) << "one thread";
  EXPECT_EQ(CutCase({200}, 3, 3, 2).work.page_count, 0U) << "one page";
  EXPECT_EQ(CutCase({2048}, 32, 1, 2).work.page_count, 0U) << "many heads";
  EXPECT_EQ(CutCase(prompt(600), 3, 3, 2).work.page_count, 0U) << "many rows";
}

TEST(AttentionCut, PageUnitsAreThoseTheTotalsRead) {
  CutCase c({700, 10, 512}, 2, 3, 16);
  ASSERT_EQ(c.work.page_count, 3U + 1 + 2);
  c.work.part = AttentionWork::Part::pages;
  ASSERT_EQ(c.work.units(), 12U);
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> made;  // row, KV head, page
  for (const int member : {0, 1, 2, 3, 4}) {
    for_each_page_unit(c.work, share_of(c.work.units(), member, 5), [&](auto r, auto kv_head, auto page, auto unit) {
      EXPECT_EQ(unit, made.size());
      made.emplace_back(r, kv_head, page);
    });
  }
  ASSERT_EQ(made.size(), 12U);
  c.work.part = AttentionWork::Part::total;
  ASSERT_EQ(c.work.units(), 3U * 6);
  std::size_t met = 0;
  for (const int member : {0, 1, 2, 3}) {
    for_each_total_unit(c.work, share_of(c.work.units(), member, 4), [&](auto r, auto head, const PageUnits& pages) {
      EXPECT_EQ(pages.count, pages_in_sight(c.rows[r]).count());
      for (std::size_t p = 0; p < pages.count; ++p) {
        EXPECT_EQ(made[pages.first + p], std::make_tuple(r, head / 3, p));
      }
      EXPECT_EQ(met++, r * 6 + head) << "in order";
    });
  }
  EXPECT_EQ(met, 18U);
}

}  // namespace
}  // namespace plm
