// How fast matrix products are: weight bytes and operations per second for every storage type, one row (decoding), few
// rows (a batch) and many (prefill), beside the peak of fused multiply-adds of the instruction set; and how fast
// weights are packed when a model is loaded. What is timed here is compared with the plain kernels in
// tests/kernels/cpu/test_linear.cpp.
#include "kernels/cpu/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench_linear.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu_device.h"

HWY_BEFORE_NAMESPACE();
namespace plm {
namespace HWY_NAMESPACE {

/// `rounds` times 12 independent vector multiply-adds; returns the number of floating-point operations.
double multiply_add(std::size_t rounds, float& result) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kChains = 12;
  hn::Vec<decltype(d)> sums[kChains];
  for (std::size_t i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const auto x = hn::Set(d, 0.999F), y = hn::Set(d, 0.1F);
  for (std::size_t round = 0; round < rounds; ++round) {
    _Pragma("GCC unroll 12") for (std::size_t i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], x, y);
  }
  for (std::size_t i = 0; i < kChains; ++i) result += hn::GetLane(sums[i]);
  return 2.0 * static_cast<double>(rounds * kChains * hn::Lanes(d));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plm {
namespace {

HWY_EXPORT(multiply_add);

benchmark::Counter rate(double amount) { return {amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate}; }

void bench_peak(benchmark::State& state) {
  float result = 0;
  double operations = 0;
  for (auto _ : state) operations = HWY_DYNAMIC_DISPATCH(multiply_add)(100'000, result);
  benchmark::DoNotOptimize(result);
  state.counters["GFLOP/s"] = rate(operations);
}

struct Shape {
  std::string_view type;
  std::size_t outputs;
  std::size_t inputs;
};

/// A weight as a file holds it: 64 quant blocks of a ramp, over and over.
std::vector<std::byte> file_bytes(const Shape& shape) {
  const StorageType& type = *find_storage_type(shape.type);
  std::vector<float> numbers(64 * type.block_size);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97) / 97.0F - 0.5F;
  std::vector<std::byte> blocks(64 * type.block_bytes);
  type.pack(numbers.data(), blocks.data(), 64);
  std::vector<std::byte> bytes(shape.outputs * type.row_bytes(shape.inputs));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = blocks[i % blocks.size()];
  return bytes;
}

WeightSource source_of(const Shape& shape, const std::vector<std::byte>& bytes) {
  return {"w", WeightRole::ffn_up, find_storage_type(shape.type), shape.outputs, shape.inputs, bytes};
}

void bench_linear(benchmark::State& state, const Shape& shape, std::size_t rows, int threads) {
  const auto device = make_cpu_device({.threads = threads});
  const std::vector<std::byte> bytes = file_bytes(shape);
  const auto weight = device->load_weight(source_of(shape, bytes));
  const auto in = device->allocate(rows * shape.inputs * sizeof(float));
  const auto out = device->allocate(rows * shape.outputs * sizeof(float));
  if (!weight || !in || !out) return state.SkipWithError("out of memory");
  for (auto _ : state) {
    device->linear(**weight, dense_view(**in, rows, shape.inputs), dense_view(**out, rows, shape.outputs));
    if (!device->wait()) return state.SkipWithError("the device failed");
  }
  const double weights = static_cast<double>(shape.outputs * shape.inputs);
  state.counters["GB/s"] = rate(static_cast<double>(bytes.size()));
  state.counters["GFLOP/s"] = rate(2 * weights * static_cast<double>(rows));
}

void bench_load(benchmark::State& state, const Shape& shape, int threads) {
  const auto device = make_cpu_device({.threads = threads});
  const std::vector<std::byte> bytes = file_bytes(shape);
  for (auto _ : state) benchmark::DoNotOptimize(device->load_weight(source_of(shape, bytes)));
  state.counters["GB/s"] = rate(static_cast<double>(bytes.size()));
}

void register_all() {
  benchmark::RegisterBenchmark("fma_peak/1_thread", bench_peak);
  // The matrices of SmolLM2-135M, then every type at one size.
  std::vector<Shape> shapes{{"q4_1", 1536, 576}, {"q4_1", 576, 1536}, {"q4_1", 192, 576}, {"q8_0", 49152, 576}};
  for (const StorageType* type : storage_types()) shapes.push_back({type->name(), 2048, 2048});
  for (const int threads : {1, 2}) {
    for (const Shape& shape : shapes) {
      const std::string name = fmt::format("{}/{}x{}", shape.type, shape.outputs, shape.inputs);
      for (const std::size_t rows : {1U, 4U, 16U, 512U}) {
        if (shape.outputs * shape.inputs * rows > std::size_t{4} << 30) continue;  // no model asks for that many logits
        benchmark::RegisterBenchmark(fmt::format("linear/{}/{}_rows/{}_threads", name, rows, threads).c_str(),
                                     [=](benchmark::State& state) { bench_linear(state, shape, rows, threads); })
            ->UseRealTime();
      }
      benchmark::RegisterBenchmark(fmt::format("load/{}/{}_threads", name, threads).c_str(),
                                   [=](benchmark::State& state) { bench_load(state, shape, threads); })
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace plm

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  plm::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
#endif
