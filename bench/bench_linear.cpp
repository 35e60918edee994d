// How fast matrix products are, kernel by kernel and shape by shape, beside what the machine can do:
//
//     bench_linear [--threads N] [TYPE...]
//
// For one row (decoding) reading the weights bounds the product, for many (prefill) multiplying: so each line has both
// rates and, in percent, how much that is of the read limit and of the limit of the instruction that the kernel is made
// of. Weights are as many copies of a matrix as come to kMegabytes, used in turn, so that they come from memory as
// those of a model do; bytes are those of the file. Packing (`load`) is timed as well. What is timed here is compared
// with the plain kernels in tests/kernels/cpu/test_linear.cpp and test_integer_linear.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kernels/cpu_device.h"
#include "machine_limits.h"

namespace plm {
namespace {

constexpr double kMegabytes = 100;
constexpr std::size_t kRepeats = 5;
constexpr double kMsPerRepeat = 40;

struct Shape {
  std::string_view type;
  std::size_t outputs;
  std::size_t inputs;

  [[nodiscard]] double weights() const { return static_cast<double>(outputs * inputs); }
};

struct NamedActivations {
  Activations kind;
  std::string_view name;
};
constexpr NamedActivations kActivations[] = {
    {Activations::int16, "int16"}, {Activations::int8, "int8"}, {Activations::f32, "f32"}};

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

/// The highest value, since other programs only ever take away; 0 if there is no limit of that name.
double limit_named(const std::vector<Limit>& limits, std::string_view what) {
  const auto found = std::ranges::find(limits, what, &Limit::what);
  return found != limits.end() ? found->values.back() : 0;
}

/// What the products of one kind are bounded by.
struct Bound {
  std::string name;
  double gops;
};

Bound bound_of(const std::vector<Limit>& limits, const Device& device, Activations activations, bool is_plain) {
  const double pairs = limit_named(limits, "int16 maddwd"), quads = limit_named(limits, "int8 dpbusd");
  if (activations != Activations::f32 && !is_plain) {
    const bool has_quads = device.describe().find("vnni") != std::string::npos;
    if (has_quads && activations == Activations::int8) return {"dpbusd", quads};
    if (has_quads) return {"dpbusd, two for 16 bits", quads / 2};
    if (pairs > 0) return {"maddwd", pairs};
  }
  return {"fma", limit_named(limits, "float32 fma")};
}

/// Milliseconds of one round of `work`, the median of kRepeats.
template <typename Work>
double median_ms(const Work& work) {
  work();
  std::array<double, kRepeats> ms;
  for (double& one : ms) {
    const Stopwatch watch;
    std::size_t rounds = 0;
    for (; rounds == 0 || watch.elapsed_ms() < kMsPerRepeat; ++rounds) work();
    one = watch.elapsed_ms() / static_cast<double>(rounds);
  }
  std::ranges::sort(ms);
  return ms[kRepeats / 2];
}

struct Bench {
  int threads;
  double read_gbs;
  std::vector<Limit> instructions;

  /// Prints a line for each number of rows. False if memory does not suffice.
  bool operator()(const Shape& shape, const NamedActivations& activations) const;
};

bool Bench::operator()(const Shape& shape, const NamedActivations& activations) const {
  const auto device = make_cpu_device({.threads = threads, .activations = activations.kind});
  const StorageType& type = *find_storage_type(shape.type);
  const std::vector<std::byte> bytes = file_bytes(shape);
  const auto size = static_cast<double>(bytes.size());
  std::vector<std::unique_ptr<Weight>> copies;
  const Stopwatch loading;
  while (copies.empty() || size * static_cast<double>(copies.size()) < kMegabytes * 1e6) {
    auto weight = device->load_weight({"w", WeightRole::ffn_up, &type, shape.outputs, shape.inputs, bytes});
    if (!weight.has_value()) return false;
    copies.push_back(std::move(*weight));
  }
  const double load_gbs = size * static_cast<double>(copies.size()) / loading.elapsed_ms() / 1e6;
  const Bound bound = bound_of(instructions, *device, activations.kind, type.group_size == 0);
  for (const std::size_t rows : {1U, 4U, 16U, 512U}) {
    const auto in = device->allocate(rows * shape.inputs * sizeof(float));
    const auto out = device->allocate(rows * shape.outputs * sizeof(float));
    if (!in.has_value() || !out.has_value()) return false;
    std::size_t next = 0;
    const double ms = median_ms([&] {
      const Weight& weight = *copies[next++ % copies.size()];
      device->linear(weight, dense_view(**in, rows, shape.inputs), dense_view(**out, rows, shape.outputs));
      (void)device->wait();
    });
    const double gbs = size / ms / 1e6, gops = 2 * shape.weights() * static_cast<double>(rows) / ms / 1e6;
    fmt::print("{:<8}{:>12}{:>7}{:>6}{:>9.1f}{:>6.0f} %{:>9.1f}{:>6.0f} % of {}{}\n", shape.type,
               fmt::format("{}x{}", shape.outputs, shape.inputs), activations.name, rows, gbs, 100 * gbs / read_gbs,
               gops, 100 * gops / bound.gops, bound.name, rows == 1 ? fmt::format("; load {:.1f} GB/s", load_gbs) : "");
    std::fflush(stdout);
  }
  return true;
}

int run(int threads, std::vector<std::string_view> types) {
  ThreadTeam team(threads);
  const std::vector<ThreadTeam*> teams{&team};
  const std::vector<Limit> reading = limits_of_reading(kMegabytes, teams);
  if (reading.empty()) return std::fputs("bench_linear: not enough memory\n", stderr), 4;
  const Bench bench{threads, reading[0].values.back(), limits_of_instructions(team)};
  fmt::print("{} threads; limits: read {:.1f} GB/s ({} MB)", threads, bench.read_gbs, kMegabytes);
  for (const Limit& limit : bench.instructions) fmt::print(", {} {:.1f} GOP/s", limit.what, limit.values.back());
  fmt::print("\n\n{:<8}{:>12}{:>7}{:>6}{:>9}{:>8}{:>9}{:>8}\n", "type", "shape", "acts", "rows", "GB/s", "read",
             "GOP/s", "instr");
  std::vector<Shape> shapes;
  if (types.empty()) {
    shapes = {{"q4_1", 1536, 576}, {"q4_1", 576, 1536}};  // of SmolLM2-135M
    types = {"q4_0", "q4_1", "q8_0", "q4_k", "q6_k", "f16", "f32"};
  }
  for (const std::string_view type : types) shapes.push_back({type, 2048, 2048});
  for (const Shape& shape : shapes) {
    const bool is_plain = find_storage_type(shape.type)->group_size == 0;
    for (const NamedActivations& activations : kActivations) {
      if (is_plain && activations.kind != Activations::f32) continue;  // never rounded
      if (!bench(shape, activations)) return std::fputs("bench_linear: not enough memory\n", stderr), 4;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plm

int main(int argc, char** argv) {
  int threads = plm::physical_core_count();
  std::vector<std::string_view> types;
  bool is_usable = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (plm::find_storage_type(word) != nullptr) {
      types.push_back(plm::find_storage_type(word)->name());
    } else {
      is_usable = false;
    }
  }
  if (!is_usable || threads < 1 || threads > plm::ThreadTeam::kMostThreads) {
    fmt::print(stderr, "usage: bench_linear [--threads N] [TYPE...]\n");
    return 2;
  }
  return plm::run(threads, types);
}
