// How attention is cut into units of work that any threads may share. Nothing here changes a bit of the result.
//  - Many queries: a unit is a block of queries of one KV head, so that a page is read once for all of them.
//  - Few queries on many pages (a new token after a long text): one KV head is too large a piece to be dealt out
//  fairly,
//    so every page is summed on its own, and then the pages of each row are added up in their order.
// Tested by tests/kernels/cpu/test_attention_cut.cpp.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/page_sight.h"
#include "kernels/cpu/work.h"

namespace plm {

inline constexpr std::size_t kTileQueries = 6;                      ///< that a kernel computes together at most
inline constexpr std::size_t kMostBlockQueries = 8 * kTileQueries;  ///< of a unit

/// Chooses how `work` is cut for so many threads: sets block_queries, and page_count if pages are to be summed singly.
void cut_attention(AttentionWork& work, int threads);

/// Queries [begin, end) of a KV head.
struct QueryBlock {
  std::size_t kv_head, begin, end;
};

/// The block that is unit `unit` of `whole`. Blocks of a KV head are dealt from both ends, the first, the last, the
/// second and so on: late rows of a prompt see more than early ones, and this way any run of units is about average.
[[nodiscard]] QueryBlock query_block(const AttentionWork& work, std::size_t unit);

/// Calls visit(row, kv_head, page, unit) for the units of `pages` in a share: by row, then KV head, then page.
template <typename Visit>
void for_each_page_unit(const AttentionWork& work, Share units, Visit visit) {
  std::size_t first = 0;  // unit of the row
  for (std::size_t r = 0; r < work.queries.rows && first < units.end; ++r) {
    const PageRange pages = pages_in_sight(work.table.rows[r]);
    const std::size_t next = first + pages.count() * work.place.kv_heads;
    for (std::size_t unit = std::max(first, units.begin); unit < std::min(next, units.end); ++unit) {
      visit(r, (unit - first) / pages.count(), pages.begin + (unit - first) % pages.count(), unit);
    }
    first = next;
  }
}

/// Units of `pages`, one for each page that a KV head of a row sees.
struct PageUnits {
  std::size_t first, count;
};

/// Calls visit(row, query head, page units) for the units of `total` in a share.
template <typename Visit>
void for_each_total_unit(const AttentionWork& work, Share units, Visit visit) {
  std::size_t first = 0;
  for (std::size_t unit = 0; unit < units.end; ++unit) {
    const std::size_t r = unit / work.q_heads(), head = unit % work.q_heads();
    const std::size_t pages = pages_in_sight(work.table.rows[r]).count();
    if (unit >= units.begin) visit(r, head, PageUnits{first, pages});
    if (head % work.group() == work.group() - 1) first += pages;
  }
}

}  // namespace plm
