// Covers src/kernels/cpu/reference_attention.cpp and simd_attention.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/page_sight.h"
#include "kernels/every_device.h"

namespace plm {
namespace {

constexpr KvTypes kKvTypes[] = {quant_f32,
                                quant_f16,
                                quant_bf16,
                                quant_q8_0,
                                quant_q4_0,
                                {quant_q8_0, quant_q4_0},
                                {quant_q4_0, quant_f16},
                                {quant_f32, quant_bf16}};

/// Keys and values for slots 0 ... slots - 1 of one sequence, and queries with what they see.
struct AttentionCase {
  KvPlace place;
  std::size_t q_heads;
  std::size_t slots;
  std::vector<RowSight> rows;
  std::vector<std::uint64_t> own_bits;
  float scale = 0.25F;
  float soft_cap = 0;
  std::vector<float> sinks = {};  ///< [q_heads] or empty

  [[nodiscard]] std::size_t kv_columns() const { return place.kv_heads * place.head_dim; }
  [[nodiscard]] std::size_t q_columns() const { return q_heads * place.head_dim; }
  [[nodiscard]] std::size_t out_columns() const { return q_heads * place.value_dim(); }
  [[nodiscard]] std::vector<float> keys() const { return random_floats(slots * kv_columns(), 1); }
  [[nodiscard]] std::vector<float> values() const { return random_floats(slots * kv_columns(), 2); }
  [[nodiscard]] std::vector<float> queries() const {
    std::vector<float> numbers = random_floats(rows.size() * q_columns(), 3);
    for (float& x : numbers) x *= 4;
    return numbers;
  }
};

/// Pages of one sequence, with room before and after the layer.
struct Pages {
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Storage*> pointers;
  std::vector<std::span<Storage* const>> sequences;

  Pages(Device& device, const KvPlace& place, std::size_t slots) {
    for (std::size_t first = 0; first < slots; first += kPageCells) {
      storages.push_back(device.allocate(place.offset + place.bytes() + 64).value());
      pointers.push_back(storages.back().get());
    }
    sequences.emplace_back(pointers);
  }
};

std::vector<float> run_attention(Device& device, const AttentionCase& c, const std::vector<float>& query_numbers,
                                 const std::vector<float>& key_numbers, const std::vector<float>& value_numbers) {
  const Pages pages(device, c.place, c.slots);
  const Matrix keys = make_matrix(device, c.slots, c.kv_columns(), key_numbers);
  const Matrix values = make_matrix(device, c.slots, c.kv_columns(), value_numbers);
  std::vector<RowSight> stored(c.slots);
  for (std::size_t i = 0; i < c.slots; ++i) stored[i].slot = static_cast<std::uint32_t>(i);
  const View no_values{};
  device.store_kv(keys.view, c.place.latent_dim > 0 ? no_values : values.view, {stored, pages.sequences, {}}, c.place);
  const Matrix queries = make_matrix(device, c.rows.size(), c.q_columns(), query_numbers);
  const Matrix out = make_matrix(device, c.rows.size(), c.out_columns());
  const FileWeight sink_file = file_weight(quant_f32, 1, c.sinks.size(), c.sinks);
  const auto sinks = c.sinks.empty() ? nullptr : sink_file.load(device, WeightRole::bias);
  ScoreRule rule{c.scale, c.soft_cap};
  rule.sinks = sinks.get();
  device.attention(queries.view, {c.rows, pages.sequences, c.own_bits}, c.place, rule, out.view);
  return read(device, out.view);
}

std::vector<float> run_attention(Device& device, const AttentionCase& c, const std::vector<float>& query_numbers) {
  return run_attention(device, c, query_numbers, c.keys(), c.values());
}

std::vector<float> run_attention(Device& device, const AttentionCase& c) {
  return run_attention(device, c, c.queries());
}

/// Softmax attention in float64, from keys and values rounded to their stored type.
std::vector<double> exact_attention(const AttentionCase& c) {
  std::vector<float> keys = c.keys(), values = c.values();
  const auto round = [](std::vector<float>& numbers, const StorageType& type) {
    std::vector<std::byte> stored(type.row_bytes(numbers.size()));
    const std::size_t blocks = numbers.size() / type.block_size;
    type.pack(numbers.data(), stored.data(), blocks);
    type.unpack(stored.data(), numbers.data(), blocks);
  };
  round(keys, *c.place.types.keys);
  round(values, *c.place.types.values);
  const std::vector<float> queries = c.queries();
  const std::size_t dim = c.place.head_dim, value_dim = c.place.value_dim();
  if (c.place.latent_dim > 0) values = keys;
  std::vector<double> out(c.rows.size() * c.out_columns());
  for (std::size_t head = 0; head < c.rows.size() * c.q_heads; ++head) {
    const std::size_t row = head / c.q_heads, i = head * dim, o = head * value_dim;
    const std::size_t kv = head % c.q_heads / (c.q_heads / c.place.kv_heads) * dim;
    double sum = 0;
    for (std::size_t slot = 0; slot < c.slots; ++slot) {
      if (!page_sight(c.rows[row], c.own_bits, slot / kPageCells).sees(slot % kPageCells)) continue;
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) score += double{queries[i + d]} * keys[slot * c.kv_columns() + kv + d];
      score *= c.scale;
      if (c.soft_cap > 0) score = c.soft_cap * std::tanh(score / c.soft_cap);
      const double weight = std::exp(score);
      sum += weight;
      for (std::size_t d = 0; d < value_dim; ++d) out[o + d] += weight * values[slot * c.kv_columns() + kv + d];
    }
    const double sink = c.sinks.empty() ? 0 : std::exp(double{c.sinks[head % c.q_heads]});
    for (std::size_t d = 0; d < value_dim; ++d) out[o + d] = sum > 0 ? out[o + d] / (sum + sink) : 0;
  }
  return out;
}

void expect_right_everywhere(const AttentionCase& c, double tolerance = 3e-6) {
  const std::vector<float> found = expect_same_everywhere([&](Device& device) { return run_attention(device, c); });
  const std::vector<double> exact = exact_attention(c);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], exact[i], tolerance) << i;
}

std::vector<RowSight> causal_rows(std::initializer_list<std::uint32_t> ends) {
  std::vector<RowSight> rows;
  for (const std::uint32_t end : ends) rows.push_back({.slot = end - 1, .begin = 0, .end = end});
  return rows;
}

TEST(Attention, TwoCellsByHand) {
  // Scores 0 and 1: the second value counts e times as much as the first.
  const KvPlace place{.kv_heads = 1, .head_dim = 2};
  const std::vector<float> out = expect_same_everywhere([&](Device& device) {
    const Pages pages(device, place, 2);
    const Matrix keys = make_matrix(device, 2, 2, {0, 7, 1, 7});
    const Matrix values = make_matrix(device, 2, 2, {1, 0, 0, 1});
    const Matrix queries = make_matrix(device, 1, 2, {2, 0});
    const Matrix out_rows = make_matrix(device, 1, 2);
    const std::vector<RowSight> stored{{.slot = 0}, {.slot = 1}};
    const std::vector<RowSight> rows{{.slot = 1, .begin = 0, .end = 2}};
    device.store_kv(keys.view, values.view, {stored, pages.sequences, {}}, place);
    device.attention(queries.view, {rows, pages.sequences, {}}, place, 0.5F, out_rows.view);
    return read(device, out_rows.view);
  });
  EXPECT_NEAR(out[0], 0.268941421, 1e-7);
  EXPECT_NEAR(out[1], 0.731058579, 1e-7);
}

TEST(Attention, CausalRowsOfAnyLength) {
  for (const KvTypes& types : kKvTypes) {
    for (const std::size_t group : {1U, 2U, 3U, 4U, 5U, 8U}) {
      SCOPED_TRACE(testing::Message() << types.name() << ", group of " << group);
      expect_right_everywhere({.place = {.offset = 128, .types = types, .kv_heads = 2, .head_dim = 32},
                               .q_heads = 2 * group,
                               .slots = 600,
                               .rows = causal_rows({1, 2, 17, 256, 257, 600}),
                               .own_bits = {}});
    }
  }
}

TEST(Attention, HeadsOfAnySize) {
  for (const std::size_t head_dim : {2U, 7U, 24U, 40U, 64U, 80U, 128U}) {
    SCOPED_TRACE(head_dim);
    expect_right_everywhere({.place = {.kv_heads = 2, .head_dim = head_dim},
                             .q_heads = 6,
                             .slots = 300,
                             .rows = causal_rows({5, 300}),
                             .own_bits = {}});
  }
}

// Every byte of the page, where rounding is hard: halves, scales too small for float16, and what is no number.
TEST(Attention, ScaledKeysAndValuesAreStoredAlikeEverywhere) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t columns = 2 * 96;
  std::vector<float> keys = random_floats(6 * columns, 1), values = random_floats(6 * columns, 2);
  for (std::size_t i = 0; i < 32; ++i) {
    keys[i] = i == 0 ? 127.0F : static_cast<float>(i) - 15.5F;         // a scale of 1, and all halves
    keys[32 + i] = i == 0 ? -254.0F : 2 * std::nextafter(0.5F, 0.0F);  // just below a half
    keys[64 + i] = 1e-30F * static_cast<float>(i);                     // the scale becomes 0
    keys[96 + i] = 1e-6F * static_cast<float>(i);                      // a float16 scale without full precision
    keys[128 + i] = 0;
    keys[160 + i] = i == 5 ? std::nanf("") : i == 9 ? -kInfinity : static_cast<float>(i);
    values[i] = i % 3 == 0 ? std::nanf("") : -static_cast<float>(i);
    values[32 + i] = 1e38F * static_cast<float>(i % 4);
  }
  for (const KvTypes& types : {KvTypes(quant_q8_0), KvTypes(quant_q4_0), KvTypes(quant_q4_0, quant_q8_0)}) {
    SCOPED_TRACE(types.name());
    const KvPlace place{.offset = 32, .types = types, .kv_heads = 2, .head_dim = 96};
    expect_same_everywhere([&](Device& device) {
      const Pages pages(device, place, 256);
      std::vector<RowSight> rows;
      for (const std::uint32_t slot : {0U, 1U, 2U, 100U, 254U, 255U}) rows.push_back({.slot = slot});
      const Matrix key_rows = make_matrix(device, 6, columns, keys),
                   value_rows = make_matrix(device, 6, columns, values);
      device.store_kv(key_rows.view, value_rows.view, {rows, pages.sequences, {}}, place);
      const std::vector<float> words = read(device, dense_view(*pages.pointers[0], 1, pages.pointers[0]->size() / 4));
      std::vector<float> bytes;
      for (const std::byte byte : std::as_bytes(std::span(words))) bytes.push_back(static_cast<float>(byte));
      return bytes;
    });
  }
}

TEST(Attention, ScaledHeadsOfAnySize) {
  for (const KvTypes& types : {KvTypes(quant_q8_0), KvTypes(quant_q8_0, quant_q4_0), KvTypes(quant_q4_0)}) {
    for (const std::size_t head_dim : {32U, 96U, 160U, 256U}) {
      SCOPED_TRACE(testing::Message() << types.name() << ", " << head_dim);
      expect_right_everywhere({.place = {.offset = 34, .types = types, .kv_heads = 3, .head_dim = head_dim},
                               .q_heads = 6,
                               .slots = 300,
                               .rows = causal_rows({5, 300}),
                               .own_bits = {}},
                              1e-5);  // up to 256 products a score
    }
  }
}

TEST(Attention, ScoresUnderASoftCap) {
  for (const KvTypes& types : kKvTypes) {
    for (const std::size_t q_heads : {1U, 5U}) {
      expect_right_everywhere({.place = {.types = types, .kv_heads = 1, .head_dim = 32},
                               .q_heads = q_heads,
                               .slots = 600,
                               .rows = causal_rows({1, 40, 600}),
                               .own_bits = {},
                               .scale = 1,
                               .soft_cap = 2});
    }
  }
}

TEST(Attention, SinksTakeWeightButGiveNothing) {
  for (const std::size_t kv_heads : {1U, 2U}) {
    expect_right_everywhere({.place = {.kv_heads = kv_heads, .head_dim = 32},
                             .q_heads = 6,
                             .slots = 600,
                             .rows = {{.begin = 0, .end = 1}, {.begin = 3, .end = 600}, {.begin = 7, .end = 7}},
                             .own_bits = {},
                             .sinks = {0, -30, 30, 2, -2, 7}});
  }
}

TEST(Attention, ValuesMayBePartOfTheirKeys) {
  for (const KvTypes& types : kKvTypes) {
    for (const std::size_t q_heads : {1U, 2U, 3U, 5U, 16U}) {
      SCOPED_TRACE(testing::Message() << types.name() << ", heads: " << q_heads);
      expect_right_everywhere(
          {.place = {.offset = 128, .types = types, .kv_heads = 1, .head_dim = 224, .latent_dim = 192},
           .q_heads = q_heads,
           .slots = 600,
           .rows = {{.begin = 0, .end = 1},
                    {.begin = 10, .end = 600},
                    {.begin = 0, .end = 100, .own_begin = 520, .own_count = 20},
                    {.begin = 500, .end = 500}},
           .own_bits = {0b1000'0010'0000'0100'1001}},
          1e-5);  // 224 products a score
    }
  }
  expect_right_everywhere({.place = {.kv_heads = 2, .head_dim = 7, .latent_dim = 5},
                           .q_heads = 4,
                           .slots = 300,
                           .rows = causal_rows({5, 300}),
                           .own_bits = {}});
  EXPECT_EQ((KvPlace{.kv_heads = 1, .head_dim = 576, .latent_dim = 512}).bytes(), 576 * sizeof(float) * kPageCells);
  const KvPlace mixed{.types = {quant_q8_0, quant_q4_0}, .kv_heads = 2, .head_dim = 64};
  EXPECT_EQ(mixed.bytes(), 2 * 2 * (34 + 18) * kPageCells);
}

TEST(Attention, OneRowOnManyPagesIsSharedOut) {
  // One KV head and several threads: pages are summed singly. Row 1 sees nothing of its second page, row 2 nothing.
  for (const KvTypes& types : kKvTypes) {
    for (const std::size_t q_heads : {1U, 4U, 7U}) {
      SCOPED_TRACE(testing::Message() << types.name() << ", heads: " << q_heads);
      expect_right_everywhere({.place = {.types = types, .kv_heads = 1, .head_dim = 64},
                               .q_heads = q_heads,
                               .slots = 1000,
                               .rows = {{.begin = 10, .end = 1000},
                                        {.begin = 0, .end = 100, .own_begin = 700, .own_count = 3},
                                        {.begin = 500, .end = 500}},
                               .own_bits = {0b101}});
    }
  }
}

TEST(Attention, OwnBitsMakeBidirectionalRowsAndTrees) {
  // Slots 250 ... 269 belong to the pass. Row 0 sees all of them, row 1 a branch of a draft tree, row 2 a branch behind
  // a sliding window, row 3 only its own bits, row 4 nothing.
  const std::vector<std::uint64_t> bits{0xfffff, 0b1000'0010'0000'0100'1001};
  expect_right_everywhere({.place = {.kv_heads = 1, .head_dim = 32},
                           .q_heads = 3,
                           .slots = 270,
                           .rows = {{.begin = 0, .end = 250, .own_begin = 250, .own_count = 20, .own_bits_word = 0},
                                    {.begin = 0, .end = 250, .own_begin = 250, .own_count = 20, .own_bits_word = 1},
                                    {.begin = 200, .end = 250, .own_begin = 250, .own_count = 20, .own_bits_word = 1},
                                    {.own_begin = 250, .own_count = 20, .own_bits_word = 1},
                                    {.begin = 9, .end = 9}},
                           .own_bits = bits});
}

/// Rows that see all sorts of spans and bits.
AttentionCase mixed_rows(const KvTypes& types, std::size_t q_heads, std::size_t count) {
  AttentionCase c{.place = {.types = types, .kv_heads = 1, .head_dim = 32},
                  .q_heads = q_heads,
                  .slots = 600,
                  .rows = {},
                  .own_bits = {0x8000'0000'0123'4567, 0b1101}};
  std::mt19937 generator(7);
  for (std::size_t r = 0; r < count; ++r) {
    const auto begin = static_cast<std::uint32_t>(generator() % 500);
    const auto end = static_cast<std::uint32_t>(begin + generator() % (600 - begin));
    const auto own_count = static_cast<std::uint32_t>(generator() % 3 * 33);
    c.rows.push_back({.begin = begin, .end = end, .own_begin = 480 + begin % 40, .own_count = own_count});
  }
  return c;
}

TEST(Attention, RowsOfDifferentSightsAreComputedTogether) {
  for (const KvTypes& types : kKvTypes) expect_right_everywhere(mixed_rows(types, 3, 40));
}

TEST(Attention, ARowGivesTheSameBitsAloneAndInABatch) {
  for_each_fast_device(2, [](Device& device) {
    for (const KvTypes& types : kKvTypes) {
      const AttentionCase all = mixed_rows(types, 3, 20);
      const std::vector<float> together = run_attention(device, all), queries = all.queries();
      const std::size_t columns = all.q_columns();
      for (std::size_t r = 0; r < all.rows.size(); ++r) {
        AttentionCase one = all;
        one.rows = {all.rows[r]};
        const std::vector<float> alone =
            run_attention(device, one, {queries.begin() + r * columns, queries.begin() + (r + 1) * columns});
        const std::vector<float> expected(&together[r * columns], &together[r * columns] + columns);
        EXPECT_EQ(bits_of(alone), bits_of(expected)) << device.describe() << ", " << types.name() << ", row " << r;
      }
    }
  });
}

// Cells out of sight may hold anything, even NaN; and what one row of a tile sees, another may not.
void expect_blindness(const KvPlace& place) {
  const AttentionCase c{
      .place = place,
      .q_heads = 2,
      .slots = 280,
      .rows = {{.begin = 3, .end = 270, .own_begin = 270, .own_count = 4, .own_bits_word = 0}, {.begin = 3, .end = 9}},
      .own_bits = {0b1010}};
  for_each_fast_device(1, [&](Device& device) {
    const auto run = [&](std::size_t row, float elsewhere) {
      std::vector<float> keys = c.keys(), values = c.values();
      for (std::uint32_t slot = 0; slot < c.slots; ++slot) {
        if (page_sight(c.rows[row], c.own_bits, slot / kPageCells).sees(slot % kPageCells)) continue;
        std::fill_n(keys.begin() + slot * 32, 32, elsewhere);
        std::fill_n(values.begin() + slot * 32, 32, elsewhere);
      }
      const std::vector<float> out = run_attention(device, c, c.queries(), keys, values);
      return std::vector<float>(&out[row * 64], &out[row * 64] + 64);
    };
    for (const std::size_t row : {0U, 1U}) {
      const std::vector<float> expected = run(row, 0);
      EXPECT_EQ(bits_of(run(row, NAN)), bits_of(expected)) << place.types.name();
      EXPECT_EQ(bits_of(run(row, 1e30F)), bits_of(expected)) << place.types.name();
    }
  });
}

TEST(Attention, WhatIsNotSeenDoesNotMatter) {
  for (const KvTypes& types : kKvTypes) {
    for (const std::size_t latent_dim : {0U, 32U})
      expect_blindness({.types = types, .kv_heads = 1, .head_dim = 32, .latent_dim = latent_dim});
  }
}

TEST(Attention, WhatIsNotANumberShows) {
  const AttentionCase c{
      .place = {.kv_heads = 1, .head_dim = 16}, .q_heads = 1, .slots = 3, .rows = causal_rows({3}), .own_bits = {}};
  std::vector<float> keys = c.keys();
  keys[20] = NAN;
  for_each_fast_device(2, [&](Device& device) {
    EXPECT_TRUE(std::isnan(run_attention(device, c, c.queries(), keys, c.values())[0])) << device.describe();
  });
}

TEST(Attention, ScoresFarApartNeitherOverflowNorVanish) {
  const AttentionCase c{.place = {.kv_heads = 1, .head_dim = 16},
                        .q_heads = 1,
                        .slots = 700,
                        .rows = causal_rows({700}),
                        .own_bits = {},
                        .scale = 10};
  expect_right_everywhere(c, 1e-4);  // scores near 100 are themselves rounded to 1e-5
}

// Stores and attends 300 causal rows `chunk` at a time.
std::vector<float> attend_in_chunks(Device& device, std::size_t chunk) {
  const KvPlace place{.types = quant_f16, .kv_heads = 2, .head_dim = 16};
  const std::size_t count = 300;
  const Pages pages(device, place, count);
  const Matrix keys = make_matrix(device, count, 32, random_floats(count * 32, 1));
  const Matrix values = make_matrix(device, count, 32, random_floats(count * 32, 2));
  const Matrix queries = make_matrix(device, count, 64, random_floats(count * 64, 3));
  const Matrix out = make_matrix(device, count, 64);
  std::vector<RowSight> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) rows[i] = {.slot = i, .begin = 0, .end = i + 1};
  for (std::size_t begin = 0; begin < count; begin += chunk) {
    const std::size_t n = std::min(chunk, count - begin);
    const RowTable table{std::span(rows).subspan(begin, n), pages.sequences, {}};
    device.store_kv(keys.view.row_range(begin, n), values.view.row_range(begin, n), table, place);
    device.attention(queries.view.row_range(begin, n), table, place, 1, out.view.row_range(begin, n));
  }
  return read(device, out.view);
}

TEST(Attention, ChunksDoNotChangeBits) {
  for_each_fast_device(2, [](Device& device) {
    const std::vector<float> expected = attend_in_chunks(device, 300);
    for (const std::size_t chunk : {1U, 7U, 64U}) {
      EXPECT_EQ(bits_of(attend_in_chunks(device, chunk)), bits_of(expected)) << device.describe() << ", " << chunk;
    }
  });
}

TEST(Attention, SequencesInOneBatchDoNotTouchEachOther) {
  const KvPlace place{.kv_heads = 1, .head_dim = 8};
  const std::vector<float> numbers = random_floats(6 * 8, 1);
  // Rows of two sequences, interleaved, or the second sequence alone.
  const auto run = [&](Device& device, bool alone) {
    Pages first(device, place, 3);
    const Pages second(device, place, 3);
    std::vector<std::span<Storage* const>> sequences{first.sequences[0], second.sequences[0]};
    std::vector<RowSight> rows;
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 6; ++i) {
      if (alone && i % 2 == 0) continue;
      rows.push_back({.sequence = i % 2, .slot = i / 2, .begin = 0, .end = i / 2 + 1});
      x.insert(x.end(), numbers.begin() + i * 8, numbers.begin() + i * 8 + 8);
    }
    const Matrix m = make_matrix(device, rows.size(), 8, x), out = make_matrix(device, rows.size(), 8);
    device.store_kv(m.view, m.view, {rows, sequences, {}}, place);
    device.attention(m.view, {rows, sequences, {}}, place, 1, out.view);
    return read(device, out.view);
  };
  for_each_fast_device(2, [&](Device& device) {
    const std::vector<float> both = run(device, false);
    std::vector<float> second;
    for (std::size_t r = 1; r < 6; r += 2) second.insert(second.end(), &both[r * 8], &both[r * 8] + 8);
    EXPECT_EQ(bits_of(run(device, true)), bits_of(second));
  });
}

}  // namespace
}  // namespace plm
