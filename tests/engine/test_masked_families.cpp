// Families that fill masks, against an independent float32 oracle: logits and states of a pass in which every row sees
// the whole page, and the pages that its reference loop wrote, pass by pass.
// Covers src/model/arch/arch_llada.cpp, arch_dream.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "engine_runs.h"
#include "format/safetensors.h"

namespace plm {
namespace {

constexpr float kTolerance = 1e-4F;  // the oracle's own suggestion for float32 engines

std::string oracle(const std::string& name) { return std::string(PLM_GOLDEN) + "/oracle/" + name; }

template <typename Number>
std::vector<Number> numbers(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error("golden lacks " + name);
  std::vector<Number> values(entry->bytes.size() / sizeof(Number));
  std::memcpy(values.data(), entry->bytes.data(), entry->bytes.size());
  return values;
}

struct Family {
  const char* name;
  const char* gguf;
};
constexpr Family kFamilies[] = {{"llada", "llada-f32.gguf"}, {"dream", "dream-bf16.gguf"}};

// One pass over tokens that all see each other.
Task<Result<PassAnswer>> whole_page(Session& session, std::span<const TokenId> tokens, std::span<const Yield> yields) {
  const PassRequest request{
      .tokens = tokens, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields};
  const Result<PassAnswer> answer = co_await session.pass(request);
  co_return answer;
}

TEST(MaskedFamilies, LogitsEqualTheOracle) {
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.name);
    const auto golden = SafetensorsFile::open(oracle(std::string(family.name) + ".golden.safetensors")).value();
    const auto engine = load_engine(oracle(family.gguf));
    const auto tokens = numbers<TokenId>(*golden, "input_ids");
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; row < tokens.size(); ++row) yields.push_back({.row = row, .kind = YieldKind::logits});
    const auto session = engine->open_session();
    auto task = whole_page(*session, tokens, yields);
    task.start();
    ASSERT_TRUE(engine->run().has_value());
    const Result<PassAnswer> answer = task.take();
    ASSERT_TRUE(answer.has_value());
    const auto expected = numbers<float>(*golden, "logits");
    const std::size_t width = expected.size() / tokens.size();
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      ASSERT_EQ(answer->results[row].values.size(), width);
      for (std::size_t id = 0; id < width; ++id) {
        ASSERT_NEAR(answer->results[row].values[id], expected[row * width + id], kTolerance) << row << " " << id;
      }
    }
  }
}

struct Trace {
  Family family;
  const char* trace;
  std::map<std::string, std::string> settings;
  std::size_t length;
};
const Trace kTraces[] = {
    {kFamilies[0], "gen_trace", {{"schedule", "count"}, {"passes", "8"}, {"block_length", "8"}}, 16},
    {kFamilies[1], "gen_trace.maskgit_plus", {{"schedule", "timestep"}, {"passes", "8"}}, 16},
    {kFamilies[1], "gen_trace.entropy", {{"schedule", "timestep"}, {"passes", "8"}, {"confidence", "neg_entropy"}}, 16},
};

// The page after every pass, the first one as it began.
std::vector<TokenId> written_pages(const Trace& trace, const std::vector<TokenId>& prompt) {
  const auto engine = load_engine(oracle(trace.family.gguf));
  Settings settings(parallel_parameters());
  for (const auto& [name, value] : trace.settings) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  std::vector<TokenId> page = prompt, pages;
  page.resize(prompt.size() + trace.length, engine->diffusion()->mask_token);
  std::size_t open = trace.length;
  const Listener listener = [&](const Event& event) {
    if (event.kind == EventKind::pass_ran) pages.insert(pages.end(), page.begin(), page.end());
    if (event.kind == EventKind::committed) {
      page[event.position] = event.token;
      --open;
    }
  };
  auto started = engine->start(
      {.prompt = prompt, .max_tokens = trace.length, .ignore_end = true, .parallel = &settings, .listener = listener});
  EXPECT_TRUE(started.has_value());
  EXPECT_TRUE(engine->run().has_value());
  EXPECT_EQ(open, 0U);
  pages.insert(pages.end(), page.begin(), page.end());
  return pages;
}

TEST(MaskedFamilies, PagesAreWrittenAsTheOracleWritesThem) {
  for (const Trace& trace : kTraces) {
    SCOPED_TRACE(trace.trace);
    const auto golden = SafetensorsFile::open(oracle(std::string(trace.family.name) + ".golden.safetensors")).value();
    EXPECT_EQ(written_pages(trace, numbers<TokenId>(*golden, "gen_prompt")), numbers<TokenId>(*golden, trace.trace));
  }
}

}  // namespace
}  // namespace plm
