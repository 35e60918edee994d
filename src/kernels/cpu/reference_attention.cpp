// Plain attention over paged keys and values. Per page an ordinary softmax around the page's own maximum; the pages are
// combined as in "online softmax" (Milakov and Gimelshein, 2018), always in the order of their positions.
// Tested by tests/kernels/cpu/test_attention.cpp.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/kv_page.h"
#include "kernels/cpu/lanes16.h"
#include "kernels/cpu/page_sight.h"

namespace plm::reference {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A softmax-weighted sum of values that is not yet divided: weights are e^(score - max).
struct PartialSum {
  float max = kMinusInfinity;
  float weight = 0;           // sum of the weights
  std::vector<float> values;  // [head_dim] sum of weight * value

  explicit PartialSum(std::size_t head_dim) : values(head_dim) {}

  void add(const PartialSum& page) {
    const float larger = std::max(max, page.max);
    const float mine = exp_f32(max - larger);
    const float theirs = exp_f32(page.max - larger);
    max = larger;
    weight = weight * mine + page.weight * theirs;
    for (std::size_t d = 0; d < values.size(); ++d) values[d] = values[d] * mine + page.values[d] * theirs;
  }
};

using PageNumbers = std::array<float, kPageCells>;

// scores[c] = query . key of cell c, for all cells, seen or not.
PageNumbers score_page(const KvPage& page, std::size_t kv_head, const float* query) {
  PageNumbers scores{};
  PageNumbers keys;
  for (std::size_t d = 0; d < page.place->head_dim; ++d) {
    page.place->type->unpack(page.keys(kv_head, d), keys.data(), kPageCells);
    for (std::size_t c = 0; c < kPageCells; ++c) scores[c] = std::fma(query[d], keys[c], scores[c]);
  }
  return scores;
}

PartialSum attend_page(const KvPage& page, const PageSight& sight, std::size_t kv_head, const float* query,
                       float scale) {
  const std::size_t head_dim = page.place->head_dim;
  PartialSum sum(head_dim);
  PageNumbers weights = score_page(page, kv_head, query);
  for (std::size_t c = 0; c < kPageCells; ++c) {
    weights[c] *= scale;
    if (sight.sees(c)) sum.max = std::max(sum.max, weights[c]);
  }
  for (std::size_t c = 0; c < kPageCells; ++c) weights[c] = sight.sees(c) ? exp_f32(weights[c] - sum.max) : 0.0F;
  sum.weight = lanes16(kPageCells, [&](std::size_t c) { return weights[c]; });
  std::vector<float> value(head_dim);
  for (std::size_t c = 0; c < kPageCells; ++c) {
    if (!sight.sees(c)) continue;
    page.place->type->unpack(page.values(kv_head, c), value.data(), head_dim);
    for (std::size_t d = 0; d < head_dim; ++d) sum.values[d] = std::fma(weights[c], value[d], sum.values[d]);
  }
  return sum;
}

}  // namespace

void store_kv(const StoreKvWork& work, Share rows) {
  const KvPlace& place = work.place;
  const std::size_t number_bytes = place.type->row_bytes(1);
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const RowSight& row = work.table.rows[r];
    const KvPage page = kv_page(work.table, row.sequence, row.slot / kPageCells, place);
    const std::size_t cell = row.slot % kPageCells;
    for (std::size_t head = 0; head < place.kv_heads; ++head) {
      const float* key = work.keys.row(r) + head * place.head_dim;
      for (std::size_t d = 0; d < place.head_dim; ++d) {
        place.type->pack(key + d, page.keys(head, d) + cell * number_bytes, 1);
      }
      place.type->pack(work.values.row(r) + head * place.head_dim, page.values(head, cell), place.head_dim);
    }
  }
}

void attention(const AttentionWork& work, Share row_heads) {
  const KvPlace& place = work.place;
  const std::size_t group = work.queries_per_kv_head();
  for (std::size_t unit = row_heads.begin * group; unit < row_heads.end * group; ++unit) {
    const std::size_t q_heads = place.kv_heads * group;
    const std::size_t r = unit / q_heads;
    const std::size_t head = unit % q_heads;
    const RowSight& row = work.table.rows[r];
    PartialSum sum(place.head_dim);
    const PageRange pages = pages_in_sight(row);
    for (std::size_t p = pages.begin; p < pages.end; ++p) {
      const PageSight sight = page_sight(row, work.table.own_bits, p);
      if (sight.sees_nothing()) continue;
      const KvPage page = kv_page(work.table, row.sequence, p, place);
      sum.add(attend_page(page, sight, head / group, work.queries.row(r) + head * place.head_dim, work.scale));
    }
    float* out = work.out.row(r) + head * place.head_dim;
    for (std::size_t d = 0; d < place.head_dim; ++d) out[d] = sum.weight > 0 ? sum.values[d] / sum.weight : 0.0F;
  }
}

}  // namespace plm::reference
