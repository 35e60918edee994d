// Plain attention over paged keys and values. Per page an ordinary softmax around the page's own maximum; the pages are
// combined as in "online softmax" (Milakov and Gimelshein, 2018), always in the order of their positions.
// Tested by tests/kernels/cpu/test_attention.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/portable_math.h"
#include "kernels/cpu/attention_cut.h"
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
  float weight = 0;           // sum of the weights; 0 says that no cell has been seen
  std::vector<float> values;  // [value_dim] sum of weight * value

  explicit PartialSum(std::size_t value_dim) : values(value_dim) {}

  void add(const PartialSum& page) {
    if (page.weight == 0) return;
    if (weight == 0) {
      *this = page;
      return;
    }
    const float larger = std::max(max, page.max);
    const float mine = exp_f32(max - larger);
    const float theirs = exp_f32(page.max - larger);
    max = larger;
    weight = weight * mine + page.weight * theirs;
    for (std::size_t d = 0; d < values.size(); ++d) values[d] = values[d] * mine + page.values[d] * theirs;
  }

  // `sink`: a score that joins the weights alone; or null.
  void write_quotient(float* out, const float* sink) const {
    const float larger = sink != nullptr ? std::max(max, *sink) : max;
    const float mine = sink != nullptr ? exp_f32(max - larger) : 1;
    const float all = sink != nullptr ? weight * mine + exp_f32(*sink - larger) : weight;
    for (std::size_t d = 0; d < values.size(); ++d) out[d] = weight == 0 ? 0.0F : values[d] * mine / all;
  }

  // As AttentionWork::page_sums holds it.
  void store(float* to) const {
    to = std::copy(values.begin(), values.end(), to);
    to[0] = max;
    to[1] = weight;
  }
  void load(const float* from) {
    std::copy_n(from, values.size(), values.begin());
    max = from[values.size()];
    weight = from[values.size() + 1];
  }
};

// Dimension `dim` from the byte that holds it and the scales of its neighbours in all cells.
float read_scaled(const StorageType& type, std::size_t dim, std::byte from, const std::byte* cell_scale) {
  std::uint16_t bits;
  std::memcpy(&bits, cell_scale, sizeof bits);
  int level = static_cast<std::int8_t>(from);
  if (&type == &quant_q4_0) {
    const unsigned shift = dim % kScaledDims < kScaledDims / 2 ? 0 : 4;
    level = static_cast<int>(static_cast<unsigned>(from) >> shift & 15U) - 8;
  }
  return static_cast<float>(level) * float_from_f16(bits);
}

using PageNumbers = std::array<float, kPageCells>;

// Dimension `dim` of the keys of all cells.
void read_keys(const KvPage& page, std::size_t kv_head, std::size_t dim, PageNumbers& keys) {
  const StorageType& type = page.key_type();
  const std::byte* from = page.keys(kv_head, dim);
  if (!has_scales(type)) return type.unpack(from, keys.data(), kPageCells);
  const std::byte* scales = page.key_scales(kv_head, dim);
  for (std::size_t c = 0; c < kPageCells; ++c) keys[c] = read_scaled(type, dim, from[c], scales + c * kScaleBytes);
}

void read_value(const KvPage& page, std::size_t kv_head, std::size_t cell, std::vector<float>& value) {
  const StorageType& type = page.value_type();
  const std::byte* from = page.values(kv_head, cell);
  if (!has_scales(type)) return type.unpack(from, value.data(), value.size());
  for (std::size_t d = 0; d < value.size(); ++d) {
    value[d] = read_scaled(type, d, from[bytes_before(type, d)], page.value_scales(kv_head, d) + cell * kScaleBytes);
  }
}

// sums[d] = weights . value of the cells in sight.
void sum_values(const KvPage& page, std::size_t kv_head, const PageNumbers& weights, const PageSight& sight,
                std::vector<float>& sums) {
  std::vector<float> value(sums.size());
  for (std::size_t c = 0; c < kPageCells; ++c) {
    if (!sight.sees(c)) continue;
    read_value(page, kv_head, c, value);
    for (std::size_t d = 0; d < sums.size(); ++d) sums[d] = std::fma(weights[c], value[d], sums[d]);
  }
}

// The same where values are part of their keys.
void sum_latent(const KvPage& page, std::size_t kv_head, const PageNumbers& weights, const PageSight& sight,
                std::vector<float>& sums) {
  PageNumbers keys;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    read_keys(page, kv_head, d, keys);
    std::array<float, 16> lanes{};
    for (std::size_t c = 0; c < kPageCells; ++c) {
      if (sight.sees(c)) lanes[c % 16] = std::fma(weights[c], keys[c], lanes[c % 16]);
    }
    sums[d] = lanes16(16, [&](std::size_t i) { return lanes[i]; });
  }
}

// scores[c] = query . key of cell c, for all cells, seen or not.
PageNumbers score_page(const KvPage& page, std::size_t kv_head, const float* query) {
  PageNumbers scores{};
  PageNumbers keys;
  for (std::size_t d = 0; d < page.place->head_dim; ++d) {
    read_keys(page, kv_head, d, keys);
    for (std::size_t c = 0; c < kPageCells; ++c) scores[c] = std::fma(query[d], keys[c], scores[c]);
  }
  return scores;
}

// What query head `head` of row `r` finds in one page.
PartialSum attend_page(const AttentionWork& work, std::size_t r, std::size_t head, std::size_t page_number) {
  const RowSight& row = work.table.rows[r];
  PartialSum sum(work.place.value_dim());
  const PageSight sight = page_sight(row, work.table.own_bits, page_number);
  if (sight.sees_nothing()) return sum;
  const KvPage page = kv_page(work.table, row.sequence, page_number, work.place);
  const std::size_t kv_head = head / work.group();
  PageNumbers weights = score_page(page, kv_head, work.queries.row(r) + head * work.place.head_dim);
  for (std::size_t c = 0; c < kPageCells; ++c) {
    weights[c] *= work.rule.scale;
    if (work.rule.soft_cap > 0) weights[c] = soft_cap_f32(weights[c], work.rule.soft_cap);
    if (sight.sees(c)) sum.max = std::max(sum.max, weights[c]);
  }
  for (std::size_t c = 0; c < kPageCells; ++c) weights[c] = sight.sees(c) ? exp_f32(weights[c] - sum.max) : 0.0F;
  sum.weight = lanes16(kPageCells, [&](std::size_t c) { return weights[c]; });
  (work.place.latent_dim > 0 ? sum_latent : sum_values)(page, kv_head, weights, sight, sum.values);
  return sum;
}

void attend_whole(const AttentionWork& work, std::size_t r, std::size_t head) {
  PartialSum sum(work.place.value_dim());
  const PageRange pages = pages_in_sight(work.table.rows[r]);
  for (std::size_t p = pages.begin; p < pages.end; ++p) sum.add(attend_page(work, r, head, p));
  sum.write_quotient(work.out_of(r, head), work.sink_of(head));
}

// Where one vector [head_dim] goes: numbers, or levels as in kv_page.h, `stride` bytes apart, and scales, if any, a
// page row apart.
struct StoredVector {
  std::byte* numbers;
  std::size_t stride;
  std::byte* scales;
};

void store_vector(const float* from, const StorageType& type, std::size_t head_dim, const StoredVector& to) {
  if (!has_scales(type)) {
    for (std::size_t d = 0; d < head_dim; ++d) type.pack(from + d, to.numbers + d * to.stride, 1);
    return;
  }
  std::array<std::byte, kScaleBytes + kScaledDims> block;  // the scale, then the levels
  PLM_CHECK(type.block_size == kScaledDims && type.block_bytes <= block.size());
  std::byte* unit = to.numbers;
  for (std::size_t first = 0; first < head_dim; first += kScaledDims) {
    type.pack(from + first, block.data(), 1);
    std::memcpy(to.scales + first / kScaledDims * kPageCells * kScaleBytes, block.data(), kScaleBytes);
    for (std::size_t i = kScaleBytes; i < type.block_bytes; ++i, unit += to.stride) *unit = block[i];
  }
}

}  // namespace

void store_kv(const StoreKvWork& work, Share rows) {
  const KvPlace& place = work.place;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const RowSight& row = work.table.rows[r];
    const KvPage page = kv_page(work.table, row.sequence, row.slot / kPageCells, place);
    const std::size_t cell = row.slot % kPageCells;
    const std::size_t key_bytes = unit_bytes(page.key_type()), value_bytes = unit_bytes(page.value_type());
    for (std::size_t head = 0; head < place.kv_heads; ++head) {
      store_vector(work.keys.row(r) + head * place.head_dim, page.key_type(), place.head_dim,
                   {.numbers = page.keys(head, 0) + cell * key_bytes,
                    .stride = kPageCells * key_bytes,
                    .scales = page.key_scales(head, 0) + cell * kScaleBytes});
      if (place.latent_dim > 0) continue;
      store_vector(work.values.row(r) + head * place.head_dim, page.value_type(), place.head_dim,
                   {.numbers = page.values(head, cell),
                    .stride = value_bytes,
                    .scales = page.value_scales(head, 0) + cell * kScaleBytes});
    }
  }
}

namespace {

void attend_blocks(const AttentionWork& work, Share units) {
  for (std::size_t unit = units.begin; unit < units.end; ++unit) {
    const QueryBlock block = query_block(work, unit);
    for (std::size_t query = block.begin; query < block.end; ++query) {
      attend_whole(work, query / work.group(), block.kv_head * work.group() + query % work.group());
    }
  }
}

void attend_pages(const AttentionWork& work, Share units) {
  for_each_page_unit(work, units, [&](std::size_t r, std::size_t kv_head, std::size_t page, std::size_t unit) {
    for (std::size_t g = 0; g < work.group(); ++g) {
      attend_page(work, r, kv_head * work.group() + g, page).store(work.page_sum(unit, g));
    }
  });
}

void add_pages(const AttentionWork& work, Share units) {
  for_each_total_unit(work, units, [&](std::size_t r, std::size_t head, const PageUnits& pages) {
    PartialSum sum(work.place.value_dim()), page(work.place.value_dim());
    for (std::size_t p = 0; p < pages.count; ++p) {
      page.load(work.page_sum(pages.first + p, head % work.group()));
      sum.add(page);
    }
    sum.write_quotient(work.out_of(r, head), work.sink_of(head));
  });
}

}  // namespace

void attention(const AttentionWork& work, Share units) {
  switch (work.part) {
    case AttentionWork::Part::whole: return attend_blocks(work, units);
    case AttentionWork::Part::pages: return attend_pages(work, units);
    case AttentionWork::Part::total: return add_pages(work, units);
  }
}

}  // namespace plm::reference
