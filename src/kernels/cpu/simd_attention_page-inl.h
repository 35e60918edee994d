// What the vectorised attention does with one page: up to kMostTile queries of one sequence that read the same KV head,
// be they heads of one row or of several, each with its own sight. They are computed together, so that a stored number
// is loaded and widened once for all of them. Both halves, scores from keys and sums from values, are the same loop
// (add_rows): numbers as they lie in memory, times a factor for each row of them, added to sums in the first-level
// cache. No sum crosses lanes, and every sum takes its terms in the order of reference_attention.cpp.
// Tested by tests/kernels/cpu/test_attention.cpp.
#if defined(PLM_KERNELS_CPU_SIMD_ATTENTION_PAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLM_KERNELS_CPU_SIMD_ATTENTION_PAGE_INL_H_
#undef PLM_KERNELS_CPU_SIMD_ATTENTION_PAGE_INL_H_
#else
#define PLM_KERNELS_CPU_SIMD_ATTENTION_PAGE_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include "kernels/cpu/attention_cut.h"
#include "kernels/cpu/page_sight.h"
#include "kernels/cpu/simd_kv_numbers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t kChunkDims = 128;    // of values, summed before the next ones
constexpr std::size_t kCacheLine = 64;     // bytes
constexpr std::size_t kBytesAhead = 4096;  // asked for before they are needed
// Registers that hold factors; the rest are for numbers and sums.
constexpr std::size_t kFactors = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 24 : 12;

constexpr std::size_t kMostTile = kFactors / 4;  // queries, so that a sum is loaded and stored once in four rows
static_assert(kMostTile <= kTileQueries);

/// Rows of numbers that are multiplied at a time, for `count` queries.
constexpr std::size_t rows_at_once(std::size_t count) {
  return std::min<std::size_t>(std::bit_floor(kFactors / count), 8);
}

/// A query and its softmax so far.
struct Query {
  const float* numbers;  ///< [head_dim]
  float* values;         ///< [head_dim] sum of weight * value
  float max;
  float weight;  ///< sum of weights; 0: nothing seen so far, and `values` may hold anything
};

/// Queries of one sequence and one KV head that are computed together, before one page.
struct Tile {
  Query* queries;
  const float* numbers[kTileQueries];
  PageSight sights[kTileQueries];
  PageSight some;  ///< cells that any of them sees
  PageSight all;   ///< cells that every one of them sees
};

/// One page as one KV head has it.
struct HeadPage {
  KvPage page;
  std::size_t kv_head;
};

struct Range {
  std::size_t begin, end;
};

/// The cells that a tile sees, as ranges in multiples of 16.
struct CellRanges {
  Range ranges[kPageCells / 64];
  std::size_t count = 0;

  explicit CellRanges(const PageSight& some) {
    for (std::size_t word = 0; word < some.words.size(); ++word) {
      const std::uint64_t bits = some.words[word];
      if (bits == 0) continue;
      const auto skipped = static_cast<std::size_t>(std::countr_zero(bits)) / 16 * 16;
      const auto beyond = static_cast<std::size_t>(std::countl_zero(bits)) / 16 * 16;
      const Range range{word * 64 + skipped, word * 64 + 64 - beyond};
      if (count > 0 && ranges[count - 1].end == range.begin) {
        ranges[count - 1].end = range.end;
      } else {
        ranges[count++] = range;
      }
    }
  }
  [[nodiscard]] const Range* begin() const { return ranges; }
  [[nodiscard]] const Range* end() const { return ranges + count; }
};

using PageScores = float[kTileQueries][kPageCells];
using ChunkSums = float[kTileQueries][kChunkDims];

/// float16 scales as floats.
HWY_INLINE void widen_scales(const std::byte* halves, const CellRanges& cells, float* scales) {
  for (const Range& range : cells) {
    for (std::size_t c = range.begin; c < range.end; c += kLanes) {
      hn::Store(load_f16(halves + c * kScaleBytes), FloatTag(), scales + c);
    }
  }
}

/// For each query g and each column: sums[g * stride + column] += factors[g][r] * numbers(r, column), for Rows rows r
/// from `row` on, in order. Memory is read front to back, and asked for in time: the processor's own prefetching gives
/// up at rows this short.
template <std::size_t Count, std::size_t Rows, class Numbers>
HWY_INLINE void add_rows(const Numbers& numbers, const float* const* factors, std::size_t row, Range columns,
                         float* sums, std::size_t stride) {
  const FloatTag d;
  Floatv factor[Count][Rows];
  PLM_UNROLL
  for (std::size_t g = 0; g < Count; ++g) {
    PLM_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) factor[g][r] = hn::Set(d, factors[g][row + r]);
  }
  const std::byte* ahead = numbers.row(row) + kBytesAhead;
  PLM_KEEP_LOOP
  for (std::size_t column = columns.begin; column < columns.end; column += kLanes) {
    if constexpr (Rows > 1) {
      PLM_UNROLL
      for (std::size_t b = 0; b < Rows * Numbers::kVectorBytes; b += kCacheLine) hwy::Prefetch(ahead + b);
      ahead += Rows * Numbers::kVectorBytes;
    }
    Floatv sum[Count];
    PLM_UNROLL
    for (std::size_t g = 0; g < Count; ++g) sum[g] = hn::Load(d, sums + g * stride + column);
    PLM_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      const Floatv number = numbers.load_at(row + r, column);
      PLM_UNROLL
      for (std::size_t g = 0; g < Count; ++g) sum[g] = hn::MulAdd(factor[g][r], number, sum[g]);
    }
    PLM_UNROLL
    for (std::size_t g = 0; g < Count; ++g) hn::Store(sum[g], d, sums + g * stride + column);
  }
}

/// scores = query . key for the cells of the ranges.
template <class Numbers, std::size_t Count>
HWY_NOINLINE void score_numbers(const HeadPage& at, const Tile& tile, const CellRanges& cells, PageScores& scores) {
  constexpr std::size_t kRows = rows_at_once(Count);
  const std::size_t head_dim = at.page.place->head_dim;
  HWY_ALIGN float scales[Numbers::kScaled ? kPageCells : 1];
  const KeyRows<Numbers> keys{at.page.keys(at.kv_head, 0), scales};
  for (const Range& range : cells) {
    for (std::size_t g = 0; g < Count; ++g) std::fill(scores[g] + range.begin, scores[g] + range.end, 0.0F);
  }
  for (std::size_t dim = 0; dim < head_dim;) {
    const std::size_t end = Numbers::kScaled ? dim + kScaledDims : head_dim;
    if constexpr (Numbers::kScaled) widen_scales(at.page.key_scales(at.kv_head, dim), cells, scales);
    for (; dim + kRows <= end; dim += kRows) {
      for (const Range& range : cells) add_rows<Count, kRows>(keys, tile.numbers, dim, range, scores[0], kPageCells);
    }
    for (; dim < end; ++dim) {
      for (const Range& range : cells) add_rows<Count, 1>(keys, tile.numbers, dim, range, scores[0], kPageCells);
    }
  }
}

template <std::size_t Count>
HWY_INLINE void score_page(const HeadPage& at, const Tile& tile, const CellRanges& cells, PageScores& scores) {
  const StorageType* type = &at.page.key_type();
  if (type == &quant_f32) return score_numbers<F32Numbers, Count>(at, tile, cells, scores);
  if (type == &quant_f16) return score_numbers<F16Numbers, Count>(at, tile, cells, scores);
  if (type == &quant_bf16) return score_numbers<Bf16Numbers, Count>(at, tile, cells, scores);
  if (type == &quant_q8_0) return score_numbers<Q8Numbers, Count>(at, tile, cells, scores);
  score_numbers<Q4Numbers, Count>(at, tile, cells, scores);
}

struct Softmax {
  float max;
  float weight;  ///< sum of the weights
};

/// Scales products query . key and draws them in under the soft cap. Few models do; for those that do not, it must not
/// stand in the way.
HWY_NOINLINE void cap_page(float* scores, const ScoreRule& rule, const CellRanges& cells) {
  const FloatTag d;
  for (const Range& range : cells) {
    for (std::size_t c = range.begin; c < range.end; c += kLanes) {
      const Floatv score = hn::Mul(hn::Load(d, scores + c), hn::Set(d, rule.scale));
      hn::Store(soft_cap_vector(score, hn::Set(d, rule.soft_cap)), d, scores + c);
    }
  }
}

/// Turns products query . key into scores: times scale, -inf where the query does not see. Returns the largest.
HWY_INLINE float mask_page(float* scores, float scale, const PageSight& sight, const CellRanges& cells) {
  const FloatTag d;
  Floatv largest = hn::Set(d, kMinusInfinity);
  for (const Range& range : cells) {
    for (std::size_t c = range.begin; c < range.end; c += kLanes) {
      Floatv score = hn::Mul(hn::Load(d, scores + c), hn::Set(d, scale));
      if (const std::uint64_t word = sight.words[c / 64]; word != ~std::uint64_t{0}) {
        const std::uint64_t bits = word >> (c % 64) & ((std::uint64_t{1} << kLanes) - 1);
        const auto visible = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
        score = hn::IfThenElse(visible, score, hn::Set(d, kMinusInfinity));
      }
      hn::Store(score, d, scores + c);
      largest = hn::Max(largest, score);
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

/// Turns scores into weights e^(score - max).
HWY_INLINE Softmax weigh_page(float* scores, float max, const CellRanges& cells) {
  const FloatTag d;
  Floatv sums[kVectors];
  PLM_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (const Range& range : cells) {
    for (std::size_t c = range.begin; c < range.end; c += 16) {
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        float* at = scores + c + v * kLanes;
        const Floatv weight = exp_vector(hn::Sub(hn::Load(d, at), hn::Set(d, max)));
        hn::Store(weight, d, at);
        sums[v] = hn::Add(sums[v], weight);
      }
    }
  }
  HWY_ALIGN float lanes[16];
  PLM_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kLanes);
  return {max, add_lanes16(lanes)};
}

/// How the values of a page join those before.
struct Blend {
  enum class Kind { skip, replace, add } kind = Kind::skip;
  float mine = 0, theirs = 0;

  HWY_INLINE void operator()(float* values, Floatv page) const {
    const FloatTag d;
    if (kind == Kind::skip) return;
    if (kind == Kind::add) page = hn::Add(hn::Mul(load(values), hn::Set(d, mine)), hn::Mul(page, hn::Set(d, theirs)));
    hn::StoreU(page, d, values);
  }
};

/// Takes a page into the query's softmax, all but the values.
Blend add_page(Query& query, const Softmax& page) {
  if (page.weight == 0) return {};
  if (query.weight == 0) {
    query.max = page.max;
    query.weight = page.weight;
    return {.kind = Blend::Kind::replace};
  }
  const float larger = std::max(query.max, page.max);
  const Blend blend{
      .kind = Blend::Kind::add, .mine = exp_f32(query.max - larger), .theirs = exp_f32(page.max - larger)};
  query.max = larger;
  query.weight = query.weight * blend.mine + page.weight * blend.theirs;
  return blend;
}

/// sums[g] = weights[g] . values over the cells that query g sees, for the dimensions of one chunk: values with rows of
/// their own.
template <class Numbers, std::size_t Count>
HWY_INLINE void sum_values(const ValueRows<Numbers>& values, const Tile& tile, const PageScores& weights, Range dims,
                           ChunkSums& sums) {
  constexpr std::size_t kRows = rows_at_once(Count);
  const float* factors[Count];
  for (std::size_t g = 0; g < Count; ++g) {
    factors[g] = weights[g];
    std::fill_n(sums[g], kChunkDims, 0.0F);
  }
  const std::uint64_t row_bits = (std::uint64_t{1} << kRows) - 1;
  for (std::size_t cell = 0; cell < kPageCells;) {
    const std::uint64_t some = tile.some.words[cell / 64] >> (cell % 64);
    if (some == 0) {
      cell = (cell / 64 + 1) * 64;
    } else if ((tile.all.words[cell / 64] >> (cell % 64) & row_bits) == row_bits) {
      add_rows<Count, kRows>(values, factors, cell, dims, sums[0], kChunkDims);
      cell += kRows;
    } else {  // what is out of sight may not be a number, so a weight of 0 will not do
      for (std::size_t g = 0; (some & 1U) != 0 && g < Count; ++g) {
        if (tile.sights[g].sees(cell)) add_rows<1, 1>(values, factors + g, cell, dims, sums[g], kChunkDims);
      }
      ++cell;
    }
  }
}

/// What `Dims` dimensions of the keys from `dim` on, as values, add up to: sums[g][i] = weights[g] . dimension dim + i
/// over the cells that query g sees. A vector holds neighbouring cells, so the sum is lanes16 over them.
template <class Numbers, std::size_t Count, std::size_t Dims>
HWY_INLINE void sum_latent_dims(const KeyRows<Numbers>& keys, std::size_t dim, const Tile& tile,
                                const CellRanges& cells, const PageScores& weights, float (&sums)[Count][Dims]) {
  const FloatTag d;
  Floatv lanes[Count][Dims][kVectors];
  PLM_UNROLL
  for (std::size_t g = 0; g < Count; ++g) {
    PLM_UNROLL
    for (std::size_t i = 0; i < Dims * kVectors; ++i) lanes[g][i / kVectors][i % kVectors] = hn::Zero(d);
  }
  for (const Range& range : cells) {
    PLM_KEEP_LOOP
    for (std::size_t c = range.begin; c < range.end; c += 16) {
      const bool all_see = (tile.all.words[c / 64] >> (c % 64) & 0xffffU) == 0xffffU;
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t cell = c + v * kLanes;
        Floatv numbers[Dims];
        PLM_UNROLL
        for (std::size_t i = 0; i < Dims; ++i) numbers[i] = keys.load_at(dim + i, cell);
        PLM_UNROLL
        for (std::size_t g = 0; g < Count; ++g) {
          const Floatv weight = hn::Load(d, weights[g] + cell);
          const std::uint64_t bits =
              tile.sights[g].words[cell / 64] >> (cell % 64) & ((std::uint64_t{1} << kLanes) - 1);
          const auto visible = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
          PLM_UNROLL
          for (std::size_t i = 0; i < Dims; ++i) {
            Floatv& sum = lanes[g][i][v];
            const Floatv added = hn::MulAdd(weight, numbers[i], sum);
            sum = all_see ? added : hn::IfThenElse(visible, added, sum);  // what is out of sight may not be a number
          }
        }
      }
    }
  }
  PLM_UNROLL
  for (std::size_t g = 0; g < Count; ++g) {
    PLM_UNROLL
    for (std::size_t i = 0; i < Dims; ++i) {
      HWY_ALIGN float stored[16];
      PLM_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) hn::Store(lanes[g][i][v], d, stored + v * kLanes);
      sums[g][i] = add_lanes16(stored);
    }
  }
}

/// The same for the dimensions of one chunk, whose scales, if any, are [dim / kScaledDims] from `first` on.
template <class Numbers, std::size_t Count>
HWY_INLINE void sum_latent(const HeadPage& at, const Tile& tile, const CellRanges& cells, const PageScores& weights,
                           Range dims, const float (*scales)[kPageCells], ChunkSums& sums) {
  constexpr std::size_t kDims = kLanes >= 8 ? 2 : 1;  // at a time, so that a weight is loaded for both
  for (std::size_t dim = dims.begin; dim < dims.end; dim += kDims) {
    const KeyRows<Numbers> keys{at.page.keys(at.kv_head, 0), scales[(dim - dims.begin) / kScaledDims]};
    float found[Count][kDims];
    sum_latent_dims<Numbers>(keys, dim, tile, cells, weights, found);
    for (std::size_t g = 0; g < Count; ++g) {
      for (std::size_t i = 0; i < kDims; ++i) sums[g][dim - dims.begin + i] = found[g][i];
    }
  }
}

/// The values of dimensions `dims`, whichever they are.
template <class Numbers, std::size_t Count>
HWY_NOINLINE void sum_numbers(const HeadPage& at, const Tile& tile, const CellRanges& cells, const PageScores& weights,
                              Range dims, ChunkSums& sums) {
  const KvPlace& place = *at.page.place;
  const bool is_latent = place.latent_dim > 0;
  HWY_ALIGN float scales[kChunkDims / kScaledDims][kPageCells];
  for (std::size_t dim = dims.begin; Numbers::kScaled && dim < dims.end; dim += kScaledDims) {
    const std::byte* halves = is_latent ? at.page.key_scales(at.kv_head, dim) : at.page.value_scales(at.kv_head, dim);
    widen_scales(halves, cells, scales[(dim - dims.begin) / kScaledDims]);
  }
  if (is_latent) return sum_latent<Numbers, Count>(at, tile, cells, weights, dims, scales, sums);
  const ValueRows<Numbers> values{at.page.values(at.kv_head, 0) + Numbers::bytes_before(dims.begin),
                                  Numbers::bytes_before(place.head_dim), scales};
  sum_values<Numbers, Count>(values, tile, weights, {0, dims.end - dims.begin}, sums);
}

template <std::size_t Count>
HWY_INLINE void sum_chunk(const HeadPage& at, const Tile& tile, const CellRanges& cells, const PageScores& weights,
                          Range dims, ChunkSums& sums) {
  const StorageType* type = at.page.place->latent_dim > 0 ? &at.page.key_type() : &at.page.value_type();
  if (type == &quant_f32) return sum_numbers<F32Numbers, Count>(at, tile, cells, weights, dims, sums);
  if (type == &quant_f16) return sum_numbers<F16Numbers, Count>(at, tile, cells, weights, dims, sums);
  if (type == &quant_bf16) return sum_numbers<Bf16Numbers, Count>(at, tile, cells, weights, dims, sums);
  if (type == &quant_q8_0) return sum_numbers<Q8Numbers, Count>(at, tile, cells, weights, dims, sums);
  sum_numbers<Q4Numbers, Count>(at, tile, cells, weights, dims, sums);
}

template <std::size_t Count>
void attend_tile(const HeadPage& at, const Tile& tile, const ScoreRule& rule) {
  const CellRanges cells(tile.some);
  HWY_ALIGN PageScores weights;
  score_page<Count>(at, tile, cells, weights);
  Blend blends[Count];
  for (std::size_t g = 0; g < Count; ++g) {
    if (tile.sights[g].sees_nothing()) continue;
    if (rule.soft_cap > 0) cap_page(weights[g], rule, cells);
    const float scale = rule.soft_cap > 0 ? 1 : rule.scale;
    const float max = mask_page(weights[g], scale, tile.sights[g], cells);
    blends[g] = add_page(tile.queries[g], weigh_page(weights[g], max, cells));
  }
  const std::size_t value_dim = at.page.place->value_dim();
  for (std::size_t first = 0; first < value_dim; first += kChunkDims) {
    const std::size_t dims = std::min(kChunkDims, value_dim - first);
    HWY_ALIGN ChunkSums sums;
    sum_chunk<Count>(at, tile, cells, weights, {first, first + dims}, sums);
    for (std::size_t g = 0; g < Count; ++g) {
      if (blends[g].kind == Blend::Kind::skip) continue;
      for (std::size_t dim = 0; dim < dims; dim += kLanes) {
        blends[g](tile.queries[g].values + first + dim, hn::Load(FloatTag(), sums[g] + dim));
      }
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#endif
