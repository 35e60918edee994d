// How fast attention is: stored bytes per second for one new token after many (decoding), operations per second for a
// chunk of a prompt (prefill), for every type of stored keys and values. The limits to compare with are what
// bench_limits prints. What is timed here is compared with the plain kernels in
// tests/kernels/cpu/test_attention.cpp.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu_device.h"

namespace plm {
namespace {

benchmark::Counter rate(double amount) { return {amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate}; }

struct Case {
  KvTypes kv_types;
  std::size_t depth;  ///< cells before the rows
  std::size_t rows;
  std::size_t layers;  ///< walked one after the other, so that keys and values come from where they come in a model
  int threads;
};

constexpr std::size_t kQueryHeads = 9, kKvHeads = 3, kHeadDim = 64;  // SmolLM2-135M

/// A sequence of `depth + rows` cells whose keys and values are a ramp.
struct Sequence {
  std::vector<KvPlace> places;
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<Storage*> pages;
  std::vector<std::span<Storage* const>> sequences;
  std::vector<RowSight> rows;

  Sequence(Device& device, const Case& c) {
    const std::size_t cells = c.depth + c.rows;
    std::size_t page_bytes = 0;
    for (std::size_t layer = 0; layer < c.layers; ++layer) {
      places.push_back({page_bytes, c.kv_types, kKvHeads, kHeadDim});
      page_bytes += places.back().bytes();
    }
    for (std::size_t first = 0; first < cells; first += kPageCells) {
      storages.push_back(device.allocate(page_bytes).value());
      pages.push_back(storages.back().get());
    }
    sequences.emplace_back(pages);
    for (std::size_t slot = 0; slot < cells; ++slot) {
      const auto at = static_cast<std::uint32_t>(slot);
      rows.push_back({.slot = at, .end = at + 1});
    }
    fill(device);
  }

  void fill(Device& device) const {
    const std::size_t columns = kKvHeads * kHeadDim;
    const auto storage = device.allocate(rows.size() * columns * sizeof(float)).value();
    std::vector<float> numbers(rows.size() * columns);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97) / 97.0F - 0.5F;
    const View view = dense_view(*storage, rows.size(), columns);
    device.upload(view, std::as_bytes(std::span(numbers)));
    for (const KvPlace& place : places) device.store_kv(view, view, {rows, sequences, {}}, place);
    (void)device.wait();
  }
};

void bench_attention(benchmark::State& state, const Case& c) {
  const auto device = make_cpu_device({.threads = c.threads});
  const Sequence sequence(*device, c);
  const std::size_t columns = kQueryHeads * kHeadDim;
  const std::vector<float> numbers(c.rows * columns, 0.1F);
  const auto queries = device->allocate(numbers.size() * sizeof(float)).value();
  const auto out = device->allocate(numbers.size() * sizeof(float)).value();
  const View from = dense_view(*queries, c.rows, columns), to = dense_view(*out, c.rows, columns);
  device->upload(from, std::as_bytes(std::span(numbers)));
  const RowTable table{std::span(sequence.rows).last(c.rows), sequence.sequences, {}};
  for (auto _ : state) {
    for (const KvPlace& place : sequence.places) device->attention(from, table, place, 0.125F, to);
    if (!device->wait()) return state.SkipWithError("the device failed");
  }
  double cells_seen = 0;
  for (const RowSight& row : table.rows) cells_seen += row.end;
  const auto layers = static_cast<double>(c.layers);
  const double read = static_cast<double>(sequence.places[0].bytes()) / kPageCells * static_cast<double>(c.depth);
  state.counters["GB/s"] = rate(layers * read);
  state.counters["GFLOP/s"] = rate(layers * 4 * cells_seen * columns);
}

void bench_store(benchmark::State& state, const Case& c) {
  const auto device = make_cpu_device({.threads = c.threads});
  const Sequence sequence(*device, c);
  const std::size_t columns = kKvHeads * kHeadDim;
  const auto numbers = device->allocate(c.rows * columns * sizeof(float)).value();
  const View view = dense_view(*numbers, c.rows, columns);
  const RowTable table{std::span(sequence.rows).last(c.rows), sequence.sequences, {}};
  for (auto _ : state) {
    for (const KvPlace& place : sequence.places) device->store_kv(view, view, table, place);
    if (!device->wait()) return state.SkipWithError("the device failed");
  }
  state.counters["GB/s"] = rate(static_cast<double>(c.layers * c.rows * columns * 2 * sizeof(float)));
}

void register_all() {
  for (const int threads : {1, 2}) {
    for (const char* type : {"f32", "f16", "bf16", "q8_0", "q8_0/q4_0", "q4_0"}) {
      const KvTypes types = parse_kv_types(type).value();
      const auto name = [&](const char* what) { return fmt::format("{}/{}/{}_threads", what, type, threads); };
      const auto add = [&](const char* what, auto function, const Case& c) {
        benchmark::RegisterBenchmark(name(what).c_str(), [=](benchmark::State& state) {
          function(state, c);
        })->UseRealTime();
      };
      add("decode_after_100", bench_attention, {types, 100, 1, 30, threads});
      add("decode_after_2048", bench_attention, {types, 2048, 1, 30, threads});
      add("4_rows_after_2048", bench_attention, {types, 2048, 4, 30, threads});
      add("prefill_512", bench_attention, {types, 0, 512, 1, threads});
      add("512_rows_after_2048", bench_attention, {types, 2048, 512, 1, threads});
      add("store_512", bench_store, {types, 0, 512, 1, threads});
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
