// Vectorised attention over paged keys and values: the sums of reference_attention.cpp. Here queries are put into tiles
// and taken from page to page; what happens in a page is in simd_attention_page-inl.h.
// Tested by tests/kernels/cpu/test_attention.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/simd_attention_page-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {
namespace {

/// The first tile of `count` queries.
constexpr std::size_t first_tile(std::size_t count) {
  if (count == 4) return 2;  // twice
  return count >= kMostTile ? kMostTile : std::min<std::size_t>(count, 3);
}

/// `count` queries from number `first` on, whose rows belong to one sequence, before one page.
Tile make_tile(const AttentionWork& work, std::size_t first, std::size_t count, std::size_t page, Query* queries) {
  Tile tile{.queries = queries, .numbers = {}, .sights = {}, .some = {}, .all = {}};
  tile.all.words.fill(~std::uint64_t{0});
  for (std::size_t g = 0; g < count; ++g) {
    tile.numbers[g] = queries[g].numbers;
    tile.sights[g] = page_sight(work.table.rows[(first + g) / work.group()], work.table.own_bits, page);
    for (std::size_t word = 0; word < tile.all.words.size(); ++word) {
      tile.some.words[word] |= tile.sights[g].words[word];
      tile.all.words[word] &= tile.sights[g].words[word];
    }
  }
  return tile;
}

/// Takes one page into `queries`, which are those of `block`, all of one sequence.
void attend_page(const AttentionWork& work, const QueryBlock& block, std::size_t page, Query* queries) {
  const std::uint32_t sequence = work.table.rows[block.begin / work.group()].sequence;
  const HeadPage at{kv_page(work.table, sequence, page, work.place), block.kv_head};
  std::size_t size;
  for (std::size_t query = block.begin; query < block.end; query += size) {
    size = first_tile(block.end - query);
    const Tile tile = make_tile(work, query, size, page, queries + (query - block.begin));
    if (tile.some.sees_nothing()) continue;
    if (size == 1) attend_tile<1>(at, tile, work.rule);
    if (size == 2) attend_tile<2>(at, tile, work.rule);
    if (size == 3) attend_tile<3>(at, tile, work.rule);
    if (size > 3) attend_tile<kMostTile>(at, tile, work.rule);
  }
}

const float* query_numbers(const AttentionWork& work, std::size_t kv_head, std::size_t query) {
  const std::size_t head = kv_head * work.group() + query % work.group();
  return work.queries.row(query / work.group()) + head * work.place.head_dim;
}

/// Divides by the sum of weights, among them that of the sink, if any: the result.
void finish(const Query& query, std::size_t value_dim, const float* sink) {
  const FloatTag d;
  const float larger = sink != nullptr ? std::max(query.max, *sink) : query.max;
  const float mine = sink != nullptr ? exp_f32(query.max - larger) : 1;
  const float all = sink != nullptr ? query.weight * mine + exp_f32(*sink - larger) : query.weight;
  for (std::size_t dim = 0; dim < value_dim; dim += kLanes) {
    const Floatv result = hn::Div(hn::Mul(load(query.values + dim), hn::Set(d, mine)), hn::Set(d, all));
    hn::StoreU(query.weight == 0 ? hn::Zero(d) : result, d, query.values + dim);
  }
}

/// The results of `block`, at most kMostBlockQueries queries of one sequence.
void attend_block(const AttentionWork& work, const QueryBlock& block) {
  const std::size_t count = block.end - block.begin;
  Query queries[kMostBlockQueries];
  PageRange pages = pages_in_sight(work.table.rows[block.begin / work.group()]);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t query = block.begin + i;
    const float* numbers = query_numbers(work, block.kv_head, query);
    const std::size_t r = query / work.group();
    queries[i] = {.numbers = numbers,
                  .values = work.out_of(r, block.kv_head * work.group() + query % work.group()),
                  .max = kMinusInfinity,
                  .weight = 0};
    const PageRange more = pages_in_sight(work.table.rows[r]);
    pages = {std::min(pages.begin, more.begin), std::max(pages.end, more.end)};
  }
  for (std::size_t p = pages.begin; p < pages.end; ++p) attend_page(work, block, p, queries);
  for (std::size_t i = 0; i < count; ++i) {
    const float* sink = work.sink_of(block.kv_head * work.group() + (block.begin + i) % work.group());
    finish(queries[i], work.place.value_dim(), sink);
  }
}

void attend_blocks(const AttentionWork& work, Share units) {
  const auto sequence = [&](std::size_t query) { return work.table.rows[query / work.group()].sequence; };
  for (std::size_t unit = units.begin; unit < units.end; ++unit) {
    QueryBlock block = query_block(work, unit);
    for (const std::size_t end = block.end; block.begin < end; block.begin = block.end) {
      block.end = block.begin + 1;
      while (block.end < end && sequence(block.end) == sequence(block.begin)) ++block.end;
      attend_block(work, block);
    }
  }
}

void attend_pages(const AttentionWork& work, Share units) {
  const std::size_t value_dim = work.place.value_dim();
  const auto sum_page = [&](std::size_t r, std::size_t kv_head, std::size_t page, std::size_t unit) {
    Query queries[kTileQueries];
    for (std::size_t g = 0; g < work.group(); g += kTileQueries) {
      const std::size_t count = std::min(kTileQueries, work.group() - g);
      for (std::size_t i = 0; i < count; ++i) {
        queries[i] = {.numbers = query_numbers(work, kv_head, r * work.group() + g + i),
                      .values = work.page_sum(unit, g + i),
                      .max = kMinusInfinity,
                      .weight = 0};
      }
      attend_page(work, {kv_head, r * work.group() + g, r * work.group() + g + count}, page, queries);
      for (std::size_t i = 0; i < count; ++i) {
        queries[i].values[value_dim] = queries[i].max;
        queries[i].values[value_dim + 1] = queries[i].weight;
      }
    }
  };
  for_each_page_unit(work, units, sum_page);
}

void add_pages(const AttentionWork& work, Share units) {
  const std::size_t value_dim = work.place.value_dim();
  const auto add_up = [&](std::size_t r, std::size_t head, const PageUnits& pages) HWY_ATTR {
    Query query{.numbers = nullptr, .values = work.out_of(r, head), .max = kMinusInfinity, .weight = 0};
    for (std::size_t p = 0; p < pages.count; ++p) {
      const float* sum = work.page_sum(pages.first + p, head % work.group());
      const Blend blend = add_page(query, {sum[value_dim], sum[value_dim + 1]});
      for (std::size_t dim = 0; dim < value_dim; dim += kLanes) blend(query.values + dim, load(sum + dim));
    }
    finish(query, value_dim, work.sink_of(head));
  };
  for_each_total_unit(work, units, add_up);
}

void attend(const AttentionWork& work, Share units) {
  switch (work.part) {
    case AttentionWork::Part::whole: return attend_blocks(work, units);
    case AttentionWork::Part::pages: return attend_pages(work, units);
    case AttentionWork::Part::total: return add_pages(work, units);
  }
}

/// Rounded to whole numbers, halves away from zero.
HWY_INLINE Floatv round_away(Floatv x) {
  const FloatTag d;
  const Floatv whole = hn::Trunc(x);
  const auto is_far = hn::Ge(hn::Abs(hn::Sub(x, whole)), hn::Set(d, 0.5F));
  return hn::Add(whole, hn::IfThenElseZero(is_far, hn::CopySign(hn::Set(d, 1.0F), x)));
}

/// A quant block of q8_0 (tensor/quant/quant_q8_0.cpp).
HWY_INLINE void round_block(Q8Numbers, const float* numbers, std::byte* block) {
  const FloatTag d;
  Floatv largest = hn::Zero(d);
  for (std::size_t i = 0; i < kScaledDims; i += kLanes) {
    const Floatv magnitude = hn::Abs(load(numbers + i));
    largest = hn::IfThenElse(hn::Gt(magnitude, largest), magnitude, largest);  // passes over NaN
  }
  const float scale = hn::GetLane(hn::MaxOfLanes(d, largest)) / 127;
  const std::uint16_t bits = f16_from_float(scale);
  std::memcpy(block, &bits, kScaleBytes);
  const Floatv inverse = hn::Set(d, float_from_f16(bits) != 0 ? 1 / scale : 0);
  const Floatv low = hn::Set(d, -127.0F), high = hn::Set(d, 127.0F);
  auto* levels = reinterpret_cast<std::int8_t*>(block + kScaleBytes);
  for (std::size_t i = 0; i < kScaledDims; i += kLanes) {
    Floatv level = round_away(hn::Mul(load(numbers + i), inverse));
    level = hn::IfThenElse(hn::Gt(level, low), level, low);  // also for NaN
    level = hn::IfThenElse(hn::Lt(level, high), level, high);
    const hn::Rebind<std::int8_t, FloatTag> bytes;
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(Int32Tag(), level)), bytes, levels + i);
  }
}

void round_block(Q4Numbers, const float* numbers, std::byte* block) { quant_q4_0.pack(numbers, block, 1); }

/// Where a vector [head_dim] goes: as in reference_attention.cpp.
struct StoredVector {
  std::byte* numbers;
  std::size_t stride;  ///< bytes
  std::byte* scales;
};

template <class Numbers>
HWY_INLINE void store_vector(const float* from, std::size_t head_dim, const StoredVector& to) {
  if constexpr (Numbers::kScaled) {
    std::byte block[Numbers::kBlockBytes];
    std::byte* unit = to.numbers;
    for (std::size_t dim = 0; dim < head_dim; dim += kScaledDims) {
      round_block(Numbers(), from + dim, block);
      std::memcpy(to.scales + dim / kScaledDims * kPageCells * kScaleBytes, block, kScaleBytes);
      for (std::size_t i = kScaleBytes; i < Numbers::kBlockBytes; ++i, unit += to.stride) *unit = block[i];
    }
  } else {
    for (std::size_t dim = 0; dim < head_dim; ++dim) Numbers::store_one(from[dim], to.numbers + dim * to.stride);
  }
}

/// Calls store(kv head, cell, page) for every head of every row.
template <typename Store>
HWY_INLINE void for_each_cell(const StoreKvWork& work, Share rows, Store store) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const RowSight& row = work.table.rows[r];
    const KvPage page = kv_page(work.table, row.sequence, row.slot / kPageCells, work.place);
    for (std::size_t head = 0; head < work.place.kv_heads; ++head) store(r, head, row.slot % kPageCells, page);
  }
}

template <class Numbers>
void store_keys(const StoreKvWork& work, Share rows) {
  const std::size_t head_dim = work.place.head_dim;
  for_each_cell(work, rows, [&](std::size_t r, std::size_t head, std::size_t cell, const KvPage& page) HWY_ATTR {
    store_vector<Numbers>(work.keys.row(r) + head * head_dim, head_dim,
                          {.numbers = page.keys(head, 0) + cell * Numbers::kBytes,
                           .stride = kPageCells * Numbers::kBytes,
                           .scales = page.key_scales(head, 0) + cell * kScaleBytes});
  });
}

template <class Numbers>
void store_values(const StoreKvWork& work, Share rows) {
  const std::size_t head_dim = work.place.head_dim;
  for_each_cell(work, rows, [&](std::size_t r, std::size_t head, std::size_t cell, const KvPage& page) HWY_ATTR {
    store_vector<Numbers>(work.values.row(r) + head * head_dim, head_dim,
                          {.numbers = page.values(head, cell),
                           .stride = Numbers::kBytes,
                           .scales = page.value_scales(head, 0) + cell * kScaleBytes});
  });
}

void store_keys_as(const StorageType& type, const StoreKvWork& work, Share rows) {
  if (&type == &quant_f32) return store_keys<F32Numbers>(work, rows);
  if (&type == &quant_f16) return store_keys<F16Numbers>(work, rows);
  if (&type == &quant_bf16) return store_keys<Bf16Numbers>(work, rows);
  if (&type == &quant_q8_0) return store_keys<Q8Numbers>(work, rows);
  store_keys<Q4Numbers>(work, rows);
}

void store_values_as(const StorageType& type, const StoreKvWork& work, Share rows) {
  if (&type == &quant_f32) return store_values<F32Numbers>(work, rows);
  if (&type == &quant_f16) return store_values<F16Numbers>(work, rows);
  if (&type == &quant_bf16) return store_values<Bf16Numbers>(work, rows);
  if (&type == &quant_q8_0) return store_values<Q8Numbers>(work, rows);
  store_values<Q4Numbers>(work, rows);
}

}  // namespace

void store_kv(const StoreKvWork& work, Share rows) {
  store_keys_as(*work.place.types.keys, work, rows);
  if (work.place.latent_dim == 0) store_values_as(*work.place.types.values, work, rows);
}

void attention(const AttentionWork& work, Share units) {
  if (work.place.value_dim() % kLanes != 0) return reference::attention(work, units);
  attend(work, units);
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
