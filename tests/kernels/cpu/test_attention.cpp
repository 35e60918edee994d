// Attention over pages: by hand, against double precision, fast against plain, and blind to everything a row must not
// see.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/device_bench.h"
#include "tensor/page.h"

namespace plm {
namespace {

// One sequence of `cells` cells, all appended at once; head sizes as given.
struct Scene {
  std::size_t cells;
  std::size_t q_heads = 6, kv_heads = 2, head_dim = 20;
  const StorageType* type = &quant_f32;
  float scale = 0.3F;
  std::vector<RowSight> sights;
  std::vector<std::uint64_t> bits;
  float stale = 0;  // what lay in the pages before

  std::vector<float> queries() const { return random_numbers(cells * q_heads * head_dim, 21); }
  std::vector<float> keys() const { return random_numbers(cells * kv_heads * head_dim, 22); }
  std::vector<float> values() const { return random_numbers(cells * kv_heads * head_dim, 23); }

  static Scene causal(std::size_t cells) {
    Scene scene{.cells = cells};
    for (std::uint32_t i = 0; i < cells; ++i) scene.sights.push_back({.slot = i, .end = i + 1});
    return scene;
  }
};

std::vector<float> run(const Scene& scene, CpuDeviceOptions options, std::size_t chunk = 1U << 20) {
  DeviceBench bench(options);
  Device& device = *bench.device;
  const KvPlace place{0, scene.type, scene.kv_heads, scene.head_dim};
  const std::size_t page_count = (scene.cells + kPageCells - 1) / kPageCells;
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Storage*> raw;
  for (std::size_t p = 0; p < page_count; ++p) {
    storages.push_back(device.allocate(place.bytes()).value());
    raw.push_back(storages.back().get());
    const View whole = dense_view(*storages.back(), 1, place.bytes() / sizeof(float));
    const std::vector<float> old(whole.columns, scene.stale);
    device.upload(whole, std::as_bytes(std::span(old)));
  }
  const std::vector<std::span<Storage* const>> pages = {raw};
  const View q = bench.matrix(scene.cells, scene.q_heads * scene.head_dim, scene.queries());
  const View k = bench.matrix(scene.cells, scene.kv_heads * scene.head_dim, scene.keys());
  const View v = bench.matrix(scene.cells, scene.kv_heads * scene.head_dim, scene.values());
  const View out = bench.matrix(scene.cells, scene.q_heads * scene.head_dim);
  for (std::size_t begin = 0; begin < scene.cells; begin += chunk) {
    const std::size_t count = std::min(chunk, scene.cells - begin);
    const RowTable table{std::span(scene.sights).subspan(begin, count), pages, scene.bits};
    device.store_kv(k.row_range(begin, count), v.row_range(begin, count), table, place);
    device.attention(q.row_range(begin, count), table, place, scene.scale, out.row_range(begin, count));
    EXPECT_TRUE(device.wait().has_value());
  }
  return bench.read(out);
}

bool sees(const Scene& scene, std::size_t row, std::size_t slot) {
  const RowSight& sight = scene.sights[row];
  if (slot >= sight.begin && slot < sight.end) return true;
  if (slot < sight.own_begin || slot >= sight.own_begin + sight.own_count) return false;
  const std::size_t bit = slot - sight.own_begin;
  return (scene.bits[sight.own_bits_word + bit / 64] >> (bit % 64) & 1) != 0;
}

// Softmax attention as the textbook has it, in double precision.
std::vector<double> textbook(const Scene& scene) {
  const auto q = scene.queries();
  const auto k = rounded_to(*scene.type, scene.keys());
  const auto v = rounded_to(*scene.type, scene.values());
  std::vector<double> out(q.size());
  const std::size_t dim = scene.head_dim;
  for (std::size_t row = 0; row < scene.cells; ++row) {
    for (std::size_t head = 0; head < scene.q_heads; ++head) {
      const std::size_t kv = head / (scene.q_heads / scene.kv_heads);
      double total = 0;
      std::vector<double> sum(dim);
      for (std::size_t slot = 0; slot < scene.cells; ++slot) {
        if (!sees(scene, row, slot)) continue;
        double score = 0;
        for (std::size_t d = 0; d < dim; ++d) {
          score += static_cast<double>(q[(row * scene.q_heads + head) * dim + d]) *
                   k[(slot * scene.kv_heads + kv) * dim + d];
        }
        const double weight = std::exp(score * scene.scale);
        total += weight;
        for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * v[(slot * scene.kv_heads + kv) * dim + d];
      }
      for (std::size_t d = 0; d < dim; ++d) out[(row * scene.q_heads + head) * dim + d] = sum[d] / total;
    }
  }
  return out;
}

void expect_near(const std::vector<float>& ours, const std::vector<double>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], expected[i], 2e-6) << i;
}

const CpuDeviceOptions kPlain = {.threads = 1, .kernels = KernelChoice::reference};

TEST(Attention, TwoCellsByHand) {
  // Scores ln 3 and 0: weights 3/4 and 1/4.
  for (const KernelChoice kernels : {KernelChoice::reference, KernelChoice::fast}) {
    DeviceBench bench(CpuDeviceOptions{.threads = 1, .kernels = kernels});
    const KvPlace place{0, &quant_f32, 1, 2};
    const auto page = bench.device->allocate(place.bytes()).value();
    Storage* const raw[] = {page.get()};
    const std::span<Storage* const> pages[] = {raw};
    const RowSight sights[] = {{.slot = 0, .end = 1}, {.slot = 1, .end = 2}};
    const RowTable table{sights, pages, {}};
    const View keys = bench.matrix(2, 2, {1, 0, 0, 1});
    const View values = bench.matrix(2, 2, {4, 0, 0, 8});
    const View queries = bench.matrix(2, 2, {1, 1, std::log(3.0F), 0});
    const View out = bench.matrix(2, 2);
    bench.device->store_kv(keys, values, table, place);
    bench.device->attention(queries, table, place, 1.0F, out);
    const auto result = bench.read(out);
    EXPECT_EQ(result[0], 4) << "the first cell sees itself only";
    EXPECT_EQ(result[1], 0);
    EXPECT_NEAR(result[2], 3, 1e-6);
    EXPECT_NEAR(result[3], 2, 1e-6);
  }
}

TEST(Attention, CausalRowsAgreeWithTheTextbookAcrossPages) {
  for (const StorageType* type : {&quant_f32, &quant_f16}) {
    Scene scene = Scene::causal(300);
    scene.type = type;
    const auto expected = textbook(scene);
    const auto plain = run(scene, kPlain);
    expect_near(plain, expected);
    for (const int threads : {1, 2, 4}) {
      const auto fast = run(scene, {.threads = threads});
      expect_near(fast, expected);
      if (machine_fuses()) {
        EXPECT_TRUE(same_bits(fast, plain)) << type->name() << ", " << threads << " threads";
      }
    }
  }
}

TEST(Attention, ChunksOfAnySizeGiveTheSameBits) {
  const Scene scene = Scene::causal(300);
  const auto whole = run(scene, {.threads = 2});
  for (const std::size_t chunk : {1U, 7U, 64U, 256U}) {
    EXPECT_TRUE(same_bits(run(scene, {.threads = 2}, chunk), whole)) << chunk;
  }
}

TEST(Attention, BitsSayWhoSeesWhom) {
  Scene scene{.cells = 70};
  std::mt19937_64 random(24);
  for (std::uint32_t i = 0; i < scene.cells; ++i) {
    scene.sights.push_back({.slot = i, .own_count = 70, .own_bits_word = 2 * i});
    scene.bits.push_back(random() | (i < 64 ? std::uint64_t{1} << i : 0));
    scene.bits.push_back((random() | (i >= 64 ? std::uint64_t{1} << (i - 64) : 0)) & 63);
  }
  const auto plain = run(scene, kPlain);
  expect_near(plain, textbook(scene));
  if (machine_fuses()) {
    EXPECT_TRUE(same_bits(run(scene, {.threads = 2}), plain));
  }
}

TEST(Attention, ALowerTriangleOfBitsIsCausal) {
  const Scene causal = Scene::causal(40);
  Scene bits{.cells = 40};
  for (std::uint32_t i = 0; i < 40; ++i) {
    bits.sights.push_back({.slot = i, .own_count = 40, .own_bits_word = i});
    bits.bits.push_back((std::uint64_t{2} << i) - 1);
  }
  for (const auto& options : {kPlain, CpuDeviceOptions{.threads = 2}}) {
    EXPECT_TRUE(same_bits(run(bits, options), run(causal, options)));
  }
}

TEST(Attention, SpansMayBeginLaterAndPagesMayBeSkipped) {
  Scene scene{.cells = 520};
  for (std::uint32_t i = 0; i < 520; ++i) {
    scene.sights.push_back({.slot = i, .begin = i < 10 ? 0 : i - 10, .end = i + 1});  // a sliding window
  }
  const auto plain = run(scene, kPlain);
  expect_near(plain, textbook(scene));
  if (machine_fuses()) {
    EXPECT_TRUE(same_bits(run(scene, {.threads = 2}), plain));
  }
}

TEST(Attention, WhatIsNotSeenCannotHarm) {
  Scene clean = Scene::causal(20);
  Scene dirty = clean;
  dirty.stale = std::numeric_limits<float>::quiet_NaN();  // cells behind the text, from an earlier owner of the page
  for (const auto& options : {kPlain, CpuDeviceOptions{.threads = 2}}) {
    EXPECT_TRUE(same_bits(run(dirty, options), run(clean, options)));
  }
}

}  // namespace
}  // namespace plm
