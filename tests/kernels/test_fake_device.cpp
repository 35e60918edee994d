// The Device interface is enough: operations on memory that the host cannot reach, run late, give what the CPU device
// gives.
#include <gtest/gtest.h>

#include "kernels/device_bench.h"
#include "kernels/fake_device.h"

namespace plm {
namespace {

// A small network step that uses most operations: norm, product, rotation, storing, attention, gate, product, readings.
struct Outcome {
  std::vector<float> hidden;
  std::vector<RowStatistics> statistics;
  std::vector<TokenScore> top;
};

Outcome step(DeviceBench& bench) {
  Device& device = *bench.device;
  const auto table = bench.weight(*find_storage_type("q8_0"), WeightRole::embedding, 50, random_numbers(50 * 32, 1));
  const auto gain = bench.weight(quant_f32, WeightRole::norm, 1, random_numbers(32, 2));
  const auto query = bench.weight(quant_f16, WeightRole::attention_query, 32, random_numbers(32 * 32, 3));
  const auto key = bench.weight(quant_f32, WeightRole::attention_key, 16, random_numbers(16 * 32, 4));
  const std::vector<std::int32_t> ids = {7, 3, 49};
  const View x = bench.matrix(3, 32);
  const View q = bench.matrix(3, 32);
  const View kv = bench.matrix(3, 16);
  const View mixed = bench.matrix(3, 32);
  device.embed(*table, ids, x);
  device.rms_norm(x, *gain, 1e-5F, x);
  device.linear(*query, x, q);
  device.linear(*key, x, kv);
  device.rope(q, 16, bench.matrix(3, 4, random_numbers(12, 5)), RopeLayout::half_split);

  const KvPlace place{0, &quant_f16, 1, 16};
  const auto page = device.allocate(place.bytes()).value();
  const auto copied = device.allocate(place.bytes()).value();
  Storage* const raw[] = {page.get()};
  Storage* const raw_copied[] = {copied.get()};
  const std::span<Storage* const> pages[] = {raw};
  const std::span<Storage* const> pages_copied[] = {raw_copied};
  const RowSight sights[] = {{.slot = 0, .end = 1}, {.slot = 1, .end = 2}, {.slot = 2, .end = 3}};
  device.store_kv(kv, kv, {sights, pages, {}}, place);
  device.copy(*copied, *page);
  device.attention(q, {sights, pages_copied, {}}, place, 0.25F, mixed);
  device.silu_multiply(mixed, q, mixed);
  device.add(x, mixed);
  device.all_reduce(x);

  const auto head = bench.weight(*find_storage_type("q4_0"), WeightRole::head, 40, random_numbers(40 * 32, 6));
  const std::vector<std::uint32_t> last = {2};
  const View chosen = bench.matrix(1, 32);
  const View logits = bench.matrix(1, 40);
  device.gather_rows(x, last, chosen);
  device.linear(*head, chosen, logits);
  Outcome outcome;
  outcome.statistics.resize(1);
  outcome.top.resize(5);
  device.statistics(logits, outcome.statistics);
  device.top_n(logits, 5, outcome.top);
  outcome.hidden = bench.read(x);
  return outcome;
}

TEST(FakeDevice, GivesWhatTheCpuDeviceGives) {
  DeviceBench fake(std::make_unique<FakeDevice>());
  DeviceBench plain(CpuDeviceOptions{.threads = 1, .kernels = KernelChoice::reference});
  const Outcome hidden = step(fake);
  const Outcome seen = step(plain);
  EXPECT_TRUE(same_bits(hidden.hidden, seen.hidden));
  EXPECT_EQ(hidden.statistics[0].argmax, seen.statistics[0].argmax);
  EXPECT_EQ(hidden.statistics[0].log_sum_exp, seen.statistics[0].log_sum_exp);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(hidden.top[i].id, seen.top[i].id);
}

TEST(FakeDeviceDeathTest, TheHostCannotReachItsMemory) {
  FakeDevice device;
  const auto storage = device.allocate(64).value();
  EXPECT_DEATH(
      {
        volatile std::byte* bytes = static_cast<CpuStorage&>(*storage).data();
        static_cast<void>(bytes[0]);
      },
      "");
}

}  // namespace
}  // namespace plm
