// Tokenising speed by vocabulary, on one core, and the time a vocabulary takes to load.
//
// `bench_tokenizer FILE.gguf ... [TEXT]`: the text (default: every .md and .cpp file below the working directory, which
// is prose and code) is encoded as a whole; MB/s are bytes of text. Google Benchmark's flags follow as usual.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "text/tokenizer.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTextBytes = std::size_t{8} << 20;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string sources_below(const fs::path& folder) {
  std::string text;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::end(entry); ++entry) {
    if (entry->path().filename() == "build") entry.disable_recursion_pending();
    const auto extension = entry->path().extension();
    if (extension == ".md" || extension == ".cpp" || extension == ".h") text += read_file(entry->path());
    if (text.size() > kMaxTextBytes) break;
  }
  return text;
}

std::shared_ptr<const plm::Tokenizer> load(const std::string& path) {
  return plm::Tokenizer::load(plm::GgufFile::open(path, {.least_tensors = 0}).value()).value();
}

void encode(benchmark::State& state, const plm::Tokenizer& tokenizer, const std::string& text) {
  std::size_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer.encode(text);
    tokens = ids.value().size();
    benchmark::DoNotOptimize(tokens);
  }
  state.counters["MB/s"] =
      benchmark::Counter(static_cast<double>(text.size()) / 1e6, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["tokens"] = static_cast<double>(tokens);
}

void open_and_load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) benchmark::DoNotOptimize(load(path));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::string text;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.ends_with(".gguf")) {
      files.push_back(argument);
    } else {
      text += read_file(argument);
    }
  }
  if (text.empty()) text = sources_below(fs::current_path());
  std::vector<std::pair<std::string, std::string>> kinds = {{"a", ""}, {"spaces", ""}, {"emoji", ""}, {"word", ""}};
  constexpr std::size_t kMegabyte = 1'000'000;
  const std::string_view units[] = {"a", " ", "\xF0\x9F\x98\x80", "pneumonoultramicroscopicsilicovolcanoconiosis"};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    while (kinds[i].second.size() < kMegabyte) kinds[i].second += units[i];
  }
  std::vector<std::shared_ptr<const plm::Tokenizer>> tokenizers;
  for (const std::string& file : files) {
    const std::string name = fs::path(file).stem().string();
    benchmark::RegisterBenchmark((name + "/load").c_str(), open_and_load, file)->Unit(benchmark::kMillisecond);
    const auto& tokenizer = tokenizers.emplace_back(load(file));
    benchmark::RegisterBenchmark((name + "/text").c_str(), encode, std::cref(*tokenizer), std::cref(text))
        ->Unit(benchmark::kMillisecond);
    for (const auto& [kind, monotonous] : kinds) {
      benchmark::RegisterBenchmark((name + "/" + kind).c_str(), encode, std::cref(*tokenizer), std::cref(monotonous))
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
