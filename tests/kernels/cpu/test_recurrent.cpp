// Covers src/kernels/cpu/reference_recurrent.cpp, simd_recurrent.cpp and cpu_recurrent.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/every_device.h"

namespace plm {
namespace {

// How the rows of a pass are dealt out to sequences, and after which of them the block is saved.
struct Dealt {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> saved_rows = {};
};

// Blocks on a device, and the table of one pass over them.
class Blocks {
 public:
  Blocks(Device& device, std::size_t bytes, std::size_t sequences) : device_(device), bytes_(bytes) {
    for (std::size_t i = 0; i < sequences; ++i) blocks_.push_back(make());
  }

  RowTable table(const Dealt& dealt, bool begins) {
    runs_.clear();
    saves_.clear();
    std::uint32_t row = 0;
    for (std::size_t s = 0; s < dealt.counts.size(); ++s) {
      RecurrentRun run{.first_row = row,
                       .row_count = dealt.counts[s],
                       .first_save = static_cast<std::uint32_t>(saves_.size()),
                       .begins = begins,
                       .block = blocks_[s].get()};
      row += dealt.counts[s];
      for (const std::uint32_t saved : dealt.saved_rows) {
        if (saved < run.first_row || saved >= row) continue;
        kept_.push_back(make());
        saves_.push_back({saved, kept_.back().get()});
        ++run.save_count;
      }
      runs_.push_back(run);
    }
    return {.rows = {}, .pages = {}, .own_bits = {}, .runs = runs_, .saves = saves_};
  }

  // Goes on from a saved block, in place of that of sequence s.
  void restore(std::size_t s, std::size_t save) { device_.copy(*blocks_[s], *kept_[save]); }

 private:
  std::shared_ptr<Storage> make() {
    auto storage = device_.allocate(bytes_).value();
    const std::vector<float> rubbish(bytes_ / sizeof(float), 1e30F);  // a block that begins counts as zeros
    device_.upload(dense_view(*storage, 1, rubbish.size()), std::as_bytes(std::span(rubbish)));
    return storage;
  }

  Device& device_;
  std::size_t bytes_;
  std::vector<std::shared_ptr<Storage>> blocks_, kept_;
  std::vector<RecurrentRun> runs_;
  std::vector<RecurrentSave> saves_;
};

void append_to(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<float> rows_of(const std::vector<float>& all, std::size_t columns, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * columns)};
}

double softplus(double x) { return std::log1p(std::exp(x)); }

// ---- one operation with numbers by chance, in as many passes as wanted

struct Problem {
  std::size_t bytes;  // of a block
  std::size_t out_columns;
  // Runs rows [first, first + count) of the inputs on a device.
  std::function<std::vector<float>(Device&, const RowTable&, std::size_t first, std::size_t count)> run;
};

struct ConvCase {
  std::size_t channels, taps;
  bool has_bias;
};

Problem conv_problem(const ConvCase& c, std::size_t rows, const std::vector<float>& in) {
  const ConvPlace place{.offset = 64, .channels = c.channels, .taps = c.taps};
  EXPECT_EQ(in.size(), rows * c.channels);
  return {place.offset + place.bytes(), c.channels,
          [=](Device& device, const RowTable& table, std::size_t first, std::size_t count) {
            const auto taps = random_weight(quant_f32, c.channels, c.taps, 2).load(device, WeightRole::convolution);
            const auto bias = random_weight(quant_f32, 1, c.channels, 3).load(device, WeightRole::bias);
            const Matrix x = make_matrix(device, count, c.channels, rows_of(in, c.channels, first, count));
            const Matrix out = make_matrix(device, count, c.channels);
            device.causal_conv(x.view, table, place, {*taps, c.has_bias ? bias.get() : nullptr}, out.view);
            return read(device, out.view);
          }};
}

struct ScanCase {
  std::size_t heads, groups, key_size, value_size;
};

constexpr std::uint32_t kValues = 1, kKeys = 2, kQueries = 3, kSteps = 4, kWrites = 5;
constexpr std::uint32_t kStepBias = 6, kRates = 7, kSkips = 8;  // seeds

// Rates from -2 to -0.1.
std::vector<float> rates_of(std::size_t heads) {
  std::vector<float> rates = random_floats(heads, kRates);
  for (float& rate : rates) rate = -1.05F + 0.95F * rate;
  return rates;
}

Matrix part(Device& device, std::uint32_t seed, std::size_t columns, std::size_t first, std::size_t count,
            std::size_t rows) {
  return make_matrix(device, count, columns, rows_of(random_floats(rows * columns, seed), columns, first, count));
}

Problem state_space_problem(const ScanCase& c, std::size_t rows) {
  const ScanPlace place{.offset = 128, .heads = c.heads, .key_size = c.key_size, .value_size = c.value_size};
  return {place.offset + place.bytes(), c.heads * c.value_size,
          [=](Device& device, const RowTable& table, std::size_t first, std::size_t count) {
            const Matrix values = part(device, kValues, c.heads * c.value_size, first, count, rows);
            const Matrix keys = part(device, kKeys, c.groups * c.key_size, first, count, rows);
            const Matrix queries = part(device, kQueries, c.groups * c.key_size, first, count, rows);
            const Matrix steps = part(device, kSteps, c.heads, first, count, rows);
            const auto bias = random_weight(quant_f32, 1, c.heads, kStepBias).load(device, WeightRole::bias);
            const auto rates = file_weight(quant_f32, 1, c.heads, rates_of(c.heads)).load(device, WeightRole::bias);
            const auto skips = random_weight(quant_f32, 1, c.heads, kSkips).load(device, WeightRole::bias);
            const Matrix out = make_matrix(device, count, c.heads * c.value_size);
            device.state_space_scan({values.view, keys.view, queries.view, steps.view, *bias, *rates, *skips}, table,
                                    place, out.view);
            return read(device, out.view);
          }};
}

Problem delta_rule_problem(const ScanCase& c, std::size_t rows) {
  const ScanPlace place{.offset = 128, .heads = c.heads, .key_size = c.key_size, .value_size = c.value_size};
  const std::size_t group = c.heads / c.groups;
  return {place.offset + place.bytes(), c.heads * c.value_size,
          [=](Device& device, const RowTable& table, std::size_t first, std::size_t count) {
            const Matrix values = part(device, kValues, c.heads * c.value_size, first, count, rows);
            const Matrix keys = part(device, kKeys, c.groups * c.key_size, first, count, rows);
            const Matrix queries = part(device, kQueries, c.groups * c.key_size, first, count, rows);
            const Matrix steps = part(device, kSteps, group, first * c.groups, count * c.groups, rows * c.groups);
            const Matrix writes = part(device, kWrites, group, first * c.groups, count * c.groups, rows * c.groups);
            const auto bias = random_weight(quant_f32, 1, c.heads, kStepBias).load(device, WeightRole::bias);
            const auto rates = file_weight(quant_f32, 1, c.heads, rates_of(c.heads)).load(device, WeightRole::bias);
            const Matrix out = make_matrix(device, count, c.heads * c.value_size);
            device.delta_rule_scan({queries.view, keys.view, values.view, writes.view, steps.view, *bias, *rates},
                                   table, place, out.view);
            return read(device, out.view);
          }};
}

// One sequence, in one pass.
std::vector<float> whole(const Problem& problem, std::size_t rows) {
  return expect_same_everywhere([&](Device& device) {
    Blocks blocks(device, problem.bytes, 1);
    return problem.run(device, blocks.table({{static_cast<std::uint32_t>(rows)}}, true), 0, rows);
  });
}

// The rows in passes of other sizes, among other sequences, and again from a save: the same bits.
void expect_every_cut_alike(Device& device, const Problem& problem, std::size_t rows) {
  const auto all = static_cast<std::uint32_t>(rows);
  Blocks blocks(device, problem.bytes, 2);
  const std::vector<float> expected = problem.run(device, blocks.table({{all}}, true), 0, rows);

  std::vector<float> cut;
  for (std::uint32_t first = 0; first < all;) {
    const std::uint32_t count = std::min<std::uint32_t>(1 + first % 3, all - first);
    append_to(cut, problem.run(device, blocks.table({{count}}, first == 0), first, count));
    first += count;
  }
  EXPECT_EQ(bits_of(cut), bits_of(expected));

  // The first two rows are another sequence's, which changes what the rest begins with.
  const std::vector<float> dealt = problem.run(device, blocks.table({{2, all - 2}}, true), 0, rows);
  EXPECT_EQ(bits_of(rows_of(dealt, problem.out_columns, 0, 2)), bits_of(rows_of(expected, problem.out_columns, 0, 2)));
  EXPECT_NE(bits_of(dealt), bits_of(expected));

  problem.run(device, blocks.table({{all}, {0, 2, all - 1}}, true), 0, rows);
  blocks.restore(0, 1);
  const std::vector<float> again = problem.run(device, blocks.table({{all - 3}}, false), 3, rows - 3);
  EXPECT_EQ(bits_of(again), bits_of(rows_of(expected, problem.out_columns, 3, rows - 3)));
}

void expect_every_cut_alike(const Problem& problem, std::size_t rows) {
  CpuDevice plain({.threads = 1, .kernels = KernelChoice::reference}), fast({.threads = 2});
  expect_every_cut_alike(plain, problem, rows);
  expect_every_cut_alike(fast, problem, rows);
}

TEST(Recurrent, ConvolutionIsWithinRoundingOfTheFormula) {
  constexpr std::size_t kRows = 9;
  for (const ConvCase& c :
       {ConvCase{1, 4, true}, ConvCase{40, 4, false}, ConvCase{67, 2, true}, ConvCase{33, 7, true}}) {
    const std::vector<float> in = random_floats(kRows * c.channels, 1);
    const Problem problem = conv_problem(c, kRows, in);
    const std::vector<float> out = whole(problem, kRows);
    const std::vector<float> taps = random_floats(c.channels * c.taps, 2), bias = random_floats(c.channels, 3);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t channel = 0; channel < c.channels; ++channel) {
        double sum = c.has_bias ? bias[channel] : 0;
        for (std::size_t tap = 0; tap < c.taps; ++tap) {
          if (r + tap + 1 < c.taps) continue;
          sum += double{taps[channel * c.taps + tap]} * in[(r + tap + 1 - c.taps) * c.channels + channel];
        }
        EXPECT_NEAR(out[r * c.channels + channel], sum / (1 + std::exp(-sum)), 2e-6);
      }
    }
    expect_every_cut_alike(problem, kRows);
  }
}

const ScanCase kScans[] = {{1, 1, 1, 1}, {4, 2, 16, 16}, {3, 1, 5, 70}, {2, 2, 24, 64}, {2, 1, 8, 150}};

TEST(Recurrent, StateSpaceScanIsWithinRoundingOfTheFormula) {
  constexpr std::size_t kRows = 8;
  for (const ScanCase& c : kScans) {
    const Problem problem = state_space_problem(c, kRows);
    const std::vector<float> out = whole(problem, kRows);
    const auto values = random_floats(kRows * c.heads * c.value_size, kValues);
    const auto keys = random_floats(kRows * c.groups * c.key_size, kKeys);
    const auto queries = random_floats(kRows * c.groups * c.key_size, kQueries);
    const auto steps = random_floats(kRows * c.heads, kSteps), bias = random_floats(c.heads, kStepBias);
    const auto rates = rates_of(c.heads), skips = random_floats(c.heads, kSkips);
    for (std::size_t h = 0; h < c.heads; ++h) {
      std::vector<double> state(c.key_size * c.value_size);
      for (std::size_t r = 0; r < kRows; ++r) {
        const double step = softplus(double{steps[r * c.heads + h]} + bias[h]);
        for (std::size_t v = 0; v < c.value_size; ++v) {
          const double value = values[(r * c.heads + h) * c.value_size + v];
          double sum = skips[h] * value;
          for (std::size_t k = 0; k < c.key_size; ++k) {
            const std::size_t at = (r * c.groups + h / (c.heads / c.groups)) * c.key_size + k;
            double& cell = state[k * c.value_size + v];
            cell = cell * std::exp(step * rates[h]) + step * value * keys[at];
            sum += cell * queries[at];
          }
          EXPECT_NEAR(out[(r * c.heads + h) * c.value_size + v], sum, 2e-5);
        }
      }
    }
    expect_every_cut_alike(problem, kRows);
  }
}

TEST(Recurrent, DeltaRuleScanIsWithinRoundingOfTheFormula) {
  constexpr std::size_t kRows = 8;
  for (const ScanCase& c : kScans) {
    const Problem problem = delta_rule_problem(c, kRows);
    const std::vector<float> out = whole(problem, kRows);
    const std::size_t group = c.heads / c.groups;
    const auto values = random_floats(kRows * c.heads * c.value_size, kValues);
    const auto keys = random_floats(kRows * c.groups * c.key_size, kKeys);
    const auto queries = random_floats(kRows * c.groups * c.key_size, kQueries);
    const auto steps = random_floats(kRows * c.heads, kSteps), writes = random_floats(kRows * c.heads, kWrites);
    const auto bias = random_floats(c.heads, kStepBias), rates = rates_of(c.heads);
    for (std::size_t h = 0; h < c.heads; ++h) {
      std::vector<double> state(c.key_size * c.value_size);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t gate = (r * c.groups + h / group) * group + h % group;
        const std::size_t key = (r * c.groups + h / group) * c.key_size;
        const double decay = std::exp(softplus(double{steps[gate]} + bias[h]) * rates[h]);
        const double write = 1 / (1 + std::exp(-double{writes[gate]}));
        for (std::size_t v = 0; v < c.value_size; ++v) {
          double known = 0, sum = 0;
          for (std::size_t k = 0; k < c.key_size; ++k) {
            state[k * c.value_size + v] *= decay;
            known += state[k * c.value_size + v] * keys[key + k];
          }
          const double change = write * (values[(r * c.heads + h) * c.value_size + v] - known);
          for (std::size_t k = 0; k < c.key_size; ++k) {
            state[k * c.value_size + v] += keys[key + k] * change;
            sum += state[k * c.value_size + v] * queries[key + k];
          }
          EXPECT_NEAR(out[(r * c.heads + h) * c.value_size + v], sum, 1e-4 * (1 + std::abs(sum)));
        }
      }
    }
    expect_every_cut_alike(problem, kRows);
  }
}

}  // namespace
}  // namespace plm
