#include "kernels/cpu/attention_cut.h"

#include <algorithm>

namespace plm {
namespace {

constexpr std::size_t kUnitsPerThread = 4;  // at least, so that threads end at about the same time

}  // namespace

void cut_attention(AttentionWork& work, int threads) {
  const auto members = static_cast<std::size_t>(threads);
  const std::size_t queries = work.queries.rows * work.q_heads();
  const std::size_t fair = queries / (2 * kUnitsPerThread * members) / kTileQueries * kTileQueries;
  work.block_queries = std::clamp(fair, kTileQueries, kMostBlockQueries);
  if (threads == 1 || work.units() >= kUnitsPerThread * members) return;
  std::size_t pages = 0;
  for (const RowSight& row : work.table.rows) pages += pages_in_sight(row).count();
  if (pages > work.queries.rows) work.page_count = pages;
}

QueryBlock query_block(const AttentionWork& work, std::size_t unit) {
  const std::size_t count = work.block_count();
  const std::size_t dealt = unit % count;
  const std::size_t block = dealt % 2 == 0 ? dealt / 2 : count - 1 - dealt / 2;
  const std::size_t begin = block * work.block_queries;
  return {unit / count, begin, std::min(begin + work.block_queries, work.queries.rows * work.group())};
}

}  // namespace plm
