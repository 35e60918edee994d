// Vectorised attention over paged keys and values: the sums of reference_attention.cpp, where a lane is a cell while
// scores are computed (keys lie transposed) and a dimension while values are summed, so no sum crosses lanes. The query
// heads that share a KV head are computed together, so a page is read once for up to kMostQueries of them. Tested by
// tests/kernels/cpu/test_attention.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/kv_page.h"
#include "kernels/cpu/page_sight.h"
#include "kernels/cpu/simd_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kMostQueries = 3;           // query heads that are computed together
constexpr std::size_t kRun = 4;                   // vectors of cells or dimensions at a time
constexpr std::size_t kRunCells = kRun * kLanes;  // divides 64
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct F32Numbers {
  static constexpr std::size_t kBytes = 4;
  static HWY_INLINE Floatv load_vector(const std::byte* from) { return load_f32(from); }
  static void store_one(float value, std::byte* to) { std::memcpy(to, &value, kBytes); }
};

struct F16Numbers {
  static constexpr std::size_t kBytes = 2;
  static HWY_INLINE Floatv load_vector(const std::byte* from) { return load_f16(from); }
  static void store_one(float value, std::byte* to) {
    const std::uint16_t bits = f16_from_float(value);
    std::memcpy(to, &bits, kBytes);
  }
};

/// The query heads of one row that are computed together, and their sums so far.
struct Queries {
  const float* query;  ///< [Count, head_dim]
  float* values;       ///< [Count, head_dim] sum of weight * value, finally the output
  float max[kMostQueries];
  float weight[kMostQueries];  ///< sum of weights
};

/// One page as one KV head sees it.
struct HeadPage {
  KvPage page;
  PageSight sight;
  std::size_t kv_head;

  [[nodiscard]] std::uint64_t bits(std::size_t cell, std::size_t count) const {
    return sight.words[cell / 64] >> (cell % 64) & (~std::uint64_t{0} >> (64 - count));
  }
};

using PageNumbers = float[kMostQueries][kPageCells];

/// scores = scale * (query . key) of visible cells, -inf of the others.
template <class Numbers, std::size_t Count>
void score_page(const HeadPage& at, const float* queries, float scale, PageNumbers& scores) {
  const FloatTag d;
  const std::size_t head_dim = at.page.place->head_dim;
  const std::byte* keys = at.page.keys(at.kv_head, 0);
  constexpr std::size_t kKeyBytes = kPageCells * Numbers::kBytes;
  for (std::size_t cell = 0; cell < kPageCells; cell += kRunCells) {
    Floatv sums[Count][kRun];
    for (auto& row : sums) {
      for (Floatv& sum : row) sum = hn::Zero(d);
    }
    const bool seen = at.bits(cell, kRunCells) != 0;
    for (std::size_t dim = 0; seen && dim < head_dim; ++dim) {
      const std::byte* from = keys + dim * kKeyBytes + cell * Numbers::kBytes;
      Floatv key[kRun];
      for (std::size_t v = 0; v < kRun; ++v) key[v] = Numbers::load_vector(from + v * kLanes * Numbers::kBytes);
      for (std::size_t g = 0; g < Count; ++g) {
        const Floatv q = hn::Set(d, queries[g * head_dim + dim]);
        for (std::size_t v = 0; v < kRun; ++v) sums[g][v] = hn::MulAdd(q, key[v], sums[g][v]);
      }
    }
    for (std::size_t v = 0; v < kRun; ++v) {
      const std::size_t first = cell + v * kLanes;
      const std::uint64_t bits = at.bits(first, kLanes);
      const auto visible = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
      for (std::size_t g = 0; g < Count; ++g) {
        const Floatv score = hn::Mul(sums[g][v], hn::Set(d, scale));
        hn::Store(hn::IfThenElse(visible, score, hn::Set(d, kMinusInfinity)), d, scores[g] + first);
      }
    }
  }
}

/// Turns scores into weights e^(score - max), returns max and puts their sum into `sum`.
HWY_INLINE float weigh_page(float* scores, float& sum) {
  const FloatTag d;
  Floatv largest = hn::Set(d, kMinusInfinity);
  for (std::size_t c = 0; c < kPageCells; c += kLanes) largest = hn::Max(largest, hn::Load(d, scores + c));
  const float max = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (std::size_t c = 0; c < kPageCells; c += kLanes) {
    hn::Store(exp_vector(hn::Sub(hn::Load(d, scores + c), hn::Set(d, max))), d, scores + c);
  }
  sum = lanes16_of(
      kPageCells, [scores](std::size_t c) HWY_ATTR { return hn::Load(FloatTag(), scores + c); },
      [scores](std::size_t c) { return scores[c]; });
  return max;
}

/// Calls visit(cell) for every visible cell, in order.
template <typename Visit>
HWY_INLINE void for_each_visible(const PageSight& sight, Visit visit) {
  for (std::size_t word = 0; word < sight.words.size(); ++word) {
    for (std::uint64_t rest = sight.words[word]; rest != 0; rest &= rest - 1) {
      visit(word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

/// How the sums so far and those of a page are scaled before they are added.
struct Blend {
  float mine, theirs;
};

/// Blends in the page's values of dimensions dim ... dim + Width * kLanes - 1.
template <class Numbers, std::size_t Count, std::size_t Width>
void add_values(const HeadPage& at, const PageNumbers& weights, const Blend* blends, std::size_t dim, float* values) {
  const FloatTag d;
  const std::size_t head_dim = at.page.place->head_dim;
  const std::byte* stored = at.page.values(at.kv_head, 0) + dim * Numbers::kBytes;
  Floatv sums[Count][Width];
  for (auto& row : sums) {
    for (Floatv& sum : row) sum = hn::Zero(d);
  }
  for_each_visible(at.sight, [&](std::size_t cell) HWY_ATTR {
    const std::byte* from = stored + cell * head_dim * Numbers::kBytes;
    Floatv value[Width];
    for (std::size_t v = 0; v < Width; ++v) value[v] = Numbers::load_vector(from + v * kLanes * Numbers::kBytes);
    for (std::size_t g = 0; g < Count; ++g) {
      const Floatv weight = hn::Set(d, weights[g][cell]);
      for (std::size_t v = 0; v < Width; ++v) sums[g][v] = hn::MulAdd(weight, value[v], sums[g][v]);
    }
  });
  for (std::size_t g = 0; g < Count; ++g) {
    for (std::size_t v = 0; v < Width; ++v) {
      float* to = values + g * head_dim + dim + v * kLanes;
      const Floatv mine = hn::Mul(load(to), hn::Set(d, blends[g].mine));
      hn::StoreU(hn::Add(mine, hn::Mul(sums[g][v], hn::Set(d, blends[g].theirs))), d, to);
    }
  }
}

template <class Numbers, std::size_t Count>
void attend_page(const HeadPage& at, float scale, Queries& queries) {
  HWY_ALIGN PageNumbers weights;
  score_page<Numbers, Count>(at, queries.query, scale, weights);
  Blend blends[Count];
  for (std::size_t g = 0; g < Count; ++g) {
    float weight;
    const float page_max = weigh_page(weights[g], weight);
    const float larger = std::max(queries.max[g], page_max);
    blends[g] = {exp_f32(queries.max[g] - larger), exp_f32(page_max - larger)};
    queries.max[g] = larger;
    queries.weight[g] = queries.weight[g] * blends[g].mine + weight * blends[g].theirs;
  }
  const std::size_t head_dim = at.page.place->head_dim;
  std::size_t dim = 0;
  for (; dim + kRun * kLanes <= head_dim; dim += kRun * kLanes) {
    add_values<Numbers, Count, kRun>(at, weights, blends, dim, queries.values);
  }
  for (; dim + kLanes <= head_dim; dim += kLanes) {
    add_values<Numbers, Count, 1>(at, weights, blends, dim, queries.values);
  }
}

/// `Count` query heads from q_head on, of row r.
template <class Numbers, std::size_t Count>
void attend(const AttentionWork& work, std::size_t r, std::size_t q_head) {
  const std::size_t head_dim = work.place.head_dim;
  const RowSight& row = work.table.rows[r];
  Queries queries{.query = work.queries.row(r) + q_head * head_dim,
                  .values = work.out.row(r) + q_head * head_dim,
                  .max = {},
                  .weight = {}};
  std::fill_n(queries.max, kMostQueries, kMinusInfinity);
  std::fill_n(queries.values, Count * head_dim, 0.0F);
  const PageRange pages = pages_in_sight(row);
  for (std::size_t p = pages.begin; p < pages.end; ++p) {
    const HeadPage at{.page = kv_page(work.table, row.sequence, p, work.place),
                      .sight = page_sight(row, work.table.own_bits, p),
                      .kv_head = q_head / work.queries_per_kv_head()};
    if (!at.sight.sees_nothing()) attend_page<Numbers, Count>(at, work.scale, queries);
  }
  for (std::size_t i = 0; i < Count * head_dim; ++i) {
    const float weight = queries.weight[i / head_dim];
    queries.values[i] = weight > 0 ? queries.values[i] / weight : 0.0F;
  }
}

template <class Numbers>
void attend_all(const AttentionWork& work, Share row_heads) {
  const std::size_t group = work.queries_per_kv_head();
  for (std::size_t unit = row_heads.begin; unit < row_heads.end; ++unit) {
    const std::size_t r = unit / work.place.kv_heads;
    const std::size_t q_head = unit % work.place.kv_heads * group;
    std::size_t g = 0;
    for (; g + 3 <= group; g += 3) attend<Numbers, 3>(work, r, q_head + g);
    if (g + 2 == group) attend<Numbers, 2>(work, r, q_head + g);
    if (g + 1 == group) attend<Numbers, 1>(work, r, q_head + g);
  }
}

template <class Numbers>
void store_rows(const StoreKvWork& work, Share rows) {
  const std::size_t head_dim = work.place.head_dim;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const RowSight& row = work.table.rows[r];
    const KvPage page = kv_page(work.table, row.sequence, row.slot / kPageCells, work.place);
    const std::size_t cell = row.slot % kPageCells;
    for (std::size_t head = 0; head < work.place.kv_heads; ++head) {
      const float* key = work.keys.row(r) + head * head_dim;
      const float* value = work.values.row(r) + head * head_dim;
      std::byte* key_to = page.keys(head, 0) + cell * Numbers::kBytes;
      std::byte* value_to = page.values(head, cell);
      for (std::size_t dim = 0; dim < head_dim; ++dim) {
        Numbers::store_one(key[dim], key_to + dim * kPageCells * Numbers::kBytes);
        Numbers::store_one(value[dim], value_to + dim * Numbers::kBytes);
      }
    }
  }
}

}  // namespace

void store_kv(const StoreKvWork& work, Share rows) {
  if (work.place.type == &quant_f32) return store_rows<F32Numbers>(work, rows);
  if (work.place.type == &quant_f16) return store_rows<F16Numbers>(work, rows);
  reference::store_kv(work, rows);
}

void attention(const AttentionWork& work, Share row_heads) {
  if (work.place.head_dim % kLanes != 0) return reference::attention(work, row_heads);
  if (work.place.type == &quant_f32) return attend_all<F32Numbers>(work, row_heads);
  if (work.place.type == &quant_f16) return attend_all<F16Numbers>(work, row_heads);
  reference::attention(work, row_heads);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
HWY_EXPORT(store_kv);
HWY_EXPORT(attention);
void set_simd_attention(KernelTable& table) {
  table.store_kv = &HWY_DYNAMIC_DISPATCH(store_kv);
  table.attention = &HWY_DYNAMIC_DISPATCH(attention);
}
}  // namespace plm
#endif
