// What choosing one token costs, by chain, on a vocabulary of 262,144 tokens and one core: the figures of
// docs/explanation/performance.md. Run it with `nice -n -20` on an idle machine.
//
// The row is a normal distribution of logits with a standard deviation of 2.5 and a few hundred raised tokens, which is
// about what a network gives: some ten tokens hold most of the probability, and a long tail the rest. A second row,
// flat (standard deviation 1), is the worst case for whatever looks for a mass: thousands of tokens hold it.
// What is timed here is checked in tests/sampling/.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "sampling/token_trace.h"

namespace plm {
namespace {

constexpr std::size_t kVocabulary = 262'144;

using Values = std::vector<std::pair<std::string, std::string>>;

std::vector<float> make_row(double deviation, std::uint32_t raised) {
  std::vector<float> row(kVocabulary);
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    double sum = -6;
    for (std::uint32_t draw = 0; draw < 12; ++draw) sum += uniform({.seed = 1, .cell = i, .draw = draw});
    row[i] = static_cast<float>(deviation * sum);
  }
  for (std::uint32_t i = 0; i < raised; ++i) {
    row[(i * 7919U + 13U) % kVocabulary] = static_cast<float>(18 - 3 * std::log(1.0 + i));
  }
  return row;
}

void bench_chain(benchmark::State& state, const Values& values, const std::vector<float>& row, bool is_traced) {
  Settings settings(sampling_parameters());
  for (const auto& [name, value] : values) {
    if (!settings.set_text(name, value)) return state.SkipWithError(name.c_str());
  }
  auto chain = Chain::create(settings);
  if (!chain) return state.SkipWithError(chain.error().message.c_str());
  // Words that come back, for dry and the penalties: the windows are as long as their defaults.
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < 512; ++i) prompt.push_back(i % 37 * 1000 + 13);
  chain->begin(prompt);
  Candidates workspace;
  Tracer tracer;
  tracer.note_top(20);
  std::uint32_t cell = 0;
  for (auto _ : state) {
    const auto selection = chain->select(row, {.seed = 1, .cell = cell++}, workspace, is_traced ? &tracer : nullptr);
    if (!selection) return state.SkipWithError(selection.error().message.c_str());
    benchmark::DoNotOptimize(selection->id);
    if (is_traced) benchmark::DoNotOptimize(tracer.finish(*selection).raw.rank);
  }
}

void register_all() {
  const std::pair<const char*, Values> chains[] = {
      {"default", {}},
      {"default_dry_penalties", {{"repeat_penalty", "1.1"}, {"frequency_penalty", "0.1"}, {"dry_multiplier", "0.8"}}},
      {"top_p", {{"samplers", "top_p"}}},
      {"typical_p", {{"samplers", "typical_p"}, {"typical_p", "0.9"}}},
      {"min_p", {{"samplers", "min_p"}}},
      {"temperature", {{"samplers", "temperature"}}},
      {"draw", {{"samplers", ""}}},
      {"mirostat_v2", {{"mirostat", "2"}}},
      {"top_p_xtc_adaptive_p",
       {{"samplers", "top_p;xtc;adaptive_p"}, {"xtc_probability", "1"}, {"adaptive_target", "0.3"}}},
  };
  static const std::pair<const char*, std::vector<float>> rows[] = {{"model_like", make_row(2.5, 400)},
                                                                    {"flat", make_row(1, 0)}};
  const auto add = [](const std::string& name, const Values& values, const std::vector<float>& row, bool is_traced) {
    benchmark::RegisterBenchmark(name.c_str(), [&row, values, is_traced](benchmark::State& state) {
      bench_chain(state, values, row, is_traced);
    })->Unit(benchmark::kMicrosecond);
  };
  for (const auto& [row_name, row] : rows) {
    for (const auto& [name, values] : chains) add(fmt::format("{}/{}", name, row_name), values, row, false);
    for (const auto& [name, values] : {chains[0], chains[1]}) {
      add(fmt::format("{}_traced/{}", name, row_name), values, row, true);
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
