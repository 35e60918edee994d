// Covers src/kernels/device.h.
// The fake device itself: its memory is out of the host's reach, and a composition of layers gives on it what it gives
// on the CPU device. (Every operation runs on it in the tests of the CPU device, through every_device.h.)
#include "kernels/fake_device.h"

#include <gtest/gtest.h>

#include "kernels/every_device.h"

namespace plm {
namespace {

TEST(FakeDeviceDeathTest, HostAccessToDeviceMemoryDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeDevice device;
  const auto storage = device.allocate(16).value();
  ASSERT_TRUE(device.wait().has_value());
  const volatile std::byte* inside = static_cast<const CpuStorage&>(*storage).data();
  EXPECT_DEATH({ [[maybe_unused]] const std::byte seen = *inside; }, "");
}

TEST(FakeDevice, StorageMayOutliveItsDevice) {
  std::shared_ptr<Storage> storage;
  {
    FakeDevice device;
    storage = device.allocate(100).value();
  }
  EXPECT_EQ(storage->size(), 100U);
}

/// A network of two layers, small but with every operation a model uses.
struct TinyNetwork {
  static constexpr std::size_t kHeads = 4, kHeadDim = 8, kHidden = kHeads * kHeadDim;
  static constexpr std::size_t kKvHeads = 2, kFfn = 64, kVocabulary = 50;
  static constexpr std::size_t kRows = 5;

  FileWeight embedding = random_weight(*find_storage_type("q8_0"), kVocabulary, kHidden, 1);
  FileWeight norm = random_weight(quant_f32, 1, kHidden, 2);
  FileWeight query = random_weight(*find_storage_type("q4_1"), kHidden, kHidden, 3);
  FileWeight key = random_weight(*find_storage_type("q4_0"), kKvHeads* kHeadDim, kHidden, 4);
  FileWeight value = random_weight(quant_f16, kKvHeads* kHeadDim, kHidden, 5);
  FileWeight gate = random_weight(quant_f32, kFfn, kHidden, 6);
  FileWeight up = random_weight(quant_bf16, kFfn, kHidden, 7);
  FileWeight down = random_weight(*find_storage_type("q8_0"), kHidden, kFfn, 8);

  [[nodiscard]] std::vector<float> run(Device& device) const;
};

std::vector<float> TinyNetwork::run(Device& device) const {
  const auto e = embedding.load(device, WeightRole::embedding), head = embedding.load(device, WeightRole::head);
  const auto n = norm.load(device, WeightRole::norm);
  const auto wq = query.load(device, WeightRole::attention_query), wk = key.load(device, WeightRole::attention_key);
  const auto wv = value.load(device, WeightRole::attention_value),
             wo = query.load(device, WeightRole::attention_output);
  const auto wg = gate.load(device, WeightRole::ffn_gate), wu = up.load(device, WeightRole::ffn_up);
  const auto wd = down.load(device, WeightRole::ffn_down);
  const Matrix x = make_matrix(device, kRows, kHidden), y = make_matrix(device, kRows, kHidden);
  const Matrix q = make_matrix(device, kRows, kHidden), mixed = make_matrix(device, kRows, kHidden);
  const Matrix k = make_matrix(device, kRows, kKvHeads * kHeadDim), v = make_matrix(device, kRows, kKvHeads * kHeadDim);
  const Matrix g = make_matrix(device, kRows, kFfn), u = make_matrix(device, kRows, kFfn);
  const Matrix angles = make_matrix(device, kRows, kHeadDim, random_floats(kRows * kHeadDim, 9));
  const Matrix logits = make_matrix(device, kRows, kVocabulary);

  KvPlace place{.types = quant_f16, .kv_heads = kKvHeads, .head_dim = kHeadDim};
  const auto page = device.allocate(2 * place.bytes()).value();
  const std::vector<Storage*> pages{page.get()};
  const std::vector<std::span<Storage* const>> sequences{pages};
  std::vector<RowSight> rows(kRows);
  for (std::uint32_t i = 0; i < kRows; ++i) rows[i] = {.slot = i, .begin = 0, .end = i + 1};
  const RowTable table{rows, sequences, {}};

  const std::vector<std::int32_t> ids{7, 49, 0, 7, 12};
  device.embed(*e, ids, x.view);
  for (int layer = 0; layer < 2; ++layer, place.offset += place.bytes()) {
    device.rms_norm(x.view, *n, 1e-5F, y.view);
    device.linear(*wq, y.view, q.view);
    device.linear(*wk, y.view, k.view);
    device.linear(*wv, y.view, v.view);
    device.rope(q.view, kHeadDim, angles.view, RopeLayout::half_split);
    device.rope(k.view, kHeadDim, angles.view, RopeLayout::half_split);
    device.store_kv(k.view, v.view, table, place);
    device.attention(q.view, table, place, 0.35F, mixed.view);
    device.linear(*wo, mixed.view, y.view);
    device.all_reduce(y.view);
    device.add(x.view, y.view);
    device.rms_norm(x.view, *n, 1e-5F, y.view);
    device.linear(*wg, y.view, g.view);
    device.linear(*wu, y.view, u.view);
    device.gate_multiply(g.view, u.view, Activation::silu, g.view);
    device.linear(*wd, g.view, y.view);
    device.all_reduce(y.view);
    device.add(x.view, y.view);
  }
  device.rms_norm(x.view, *n, 1e-5F, x.view);
  device.linear(*head, x.view, logits.view);
  return read(device, logits.view);
}

TEST(FakeDevice, TwoLayersGiveWhatTheCpuDeviceGives) {
  const TinyNetwork network;
  const std::vector<float> logits = expect_same_everywhere([&](Device& device) { return network.run(device); });
  for (const float x : logits) EXPECT_TRUE(std::isfinite(x));
}

}  // namespace
}  // namespace plm
