// Families that fill masks, against an independent float32 oracle: the pages that its reference loops wrote, pass by
// pass. Logits are tested by tests/model/test_masked_families.cpp.
// Covers src/decode/page.cpp, src/decode/decoders/decoder_diffusion.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "engine_runs.h"
#include "format/safetensors.h"
#include "model/mask_head_folder.h"

namespace plm {
namespace {

std::string shared() { return std::string(PLM_SHARED) + "/conformance/oracle/"; }

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
  const char* file;  ///< below the golden data; empty: a folder of the large data, which may be missing

  [[nodiscard]] std::string path() const {
    return *file == '\0' ? shared() + "fixtures/" + name : std::string(PLM_GOLDEN) + "/" + file;
  }
  [[nodiscard]] std::string golden() const {
    return *file == '\0' ? path() + "/golden.safetensors"
                         : std::string(PLM_GOLDEN) + "/oracle/" + name + ".golden.safetensors";
  }
};
constexpr Family kLlada{"llada", "oracle/llada-f32.gguf"}, kDream{"dream", "oracle/dream-bf16.gguf"}, kSdar{"sdar", ""},
    kFastDllm{"fast_dllm_v2", "huggingface/fast_dllm_v2"};

struct Trace {
  Family family;
  const char* trace;
  std::map<std::string, std::string> settings;
  std::size_t length;
};
const Trace kTraces[] = {
    {kLlada, "gen_trace", {{"schedule", "count"}, {"passes", "8"}, {"block_length", "8"}}, 16},
    {kDream, "gen_trace.maskgit_plus", {{"schedule", "timestep"}, {"passes", "8"}}, 16},
    {kDream, "gen_trace.entropy", {{"schedule", "timestep"}, {"passes", "8"}, {"confidence", "neg_entropy"}}, 16},
    {kSdar, "gen_trace", {{"schedule", "count"}, {"passes", "20"}}, 18},
    {kFastDllm, "gen_trace", {{"schedule", "threshold"}, {"threshold", "0.1"}}, 13},
    {kFastDllm,
     "gen_trace.sub_blocks",
     {{"schedule", "threshold"}, {"threshold", "0.1"}, {"sub_block_length", "4"}},
     13},
};

// The page after every pass, the first one as it began.
std::vector<TokenId> written_pages(const Trace& trace, const std::vector<TokenId>& prompt) {
  const auto engine = load_engine(trace.family.path());
  Settings settings(parallel_parameters());
  for (const auto& [name, value] : trace.settings) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  std::vector<TokenId> page = prompt, pages;
  page.resize(prompt.size() + trace.length, engine->diffusion()->mask_token);
  std::size_t open = trace.length;
  bool is_new = false;  // a pass, of which it is not yet known whether it proposes anything
  const Listener listener = [&](const Event& event) {
    if (event.kind == EventKind::proposed && is_new) pages.insert(pages.end(), page.begin(), page.end());
    if (event.kind == EventKind::pass_ran || event.kind == EventKind::proposed) {
      is_new = event.kind == EventKind::pass_ran;
    }
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
    SCOPED_TRACE(std::string(trace.family.name) + " " + trace.trace);
    if (!std::filesystem::exists(trace.family.path())) continue;
    const auto golden = SafetensorsFile::open(trace.family.golden()).value();
    EXPECT_EQ(written_pages(trace, numbers<TokenId>(*golden, "gen_prompt")), numbers<TokenId>(*golden, trace.trace));
  }
}

// Its mask is the one that the tokeniser names. Asked for vectors, it is the encoder that it was.
TEST(MaskedFamilies, AnEncoderWithTheHeadItWasTrainedWithWritesAPage) {
  const MaskHeadFolder folder("bert", "Bert", MaskHeadFolder::kOfBert);
  EXPECT_EQ(load_engine(folder.path(), {.use = ModelUse::embedding})->kind(), ModelKind::encoder);
  const auto engine = load_engine(folder.path());
  ASSERT_TRUE(engine->diffusion().has_value());
  const TokenId mask = engine->diffusion()->mask_token;
  EXPECT_EQ(mask, engine->vocabulary().special(SpecialToken::mask));
  const std::vector<TokenId>& after = engine->tokenizer().surroundings().after;
  ASSERT_EQ(after.size(), 1U);
  engine->watch({.on_pass = [&](const PassRows& rows) {
    EXPECT_EQ(rows.tokens.size(), 3U + 6U + 1U);
    EXPECT_EQ(rows.tokens.back(), after.front()) << "what it expects behind a text";
  }});
  Settings settings(parallel_parameters());
  const Written written =
      write(*engine, {.prompt = {2, 17, 60}, .max_tokens = 6, .ignore_end = true, .parallel = &settings});
  EXPECT_EQ(written.ids.size(), 6U);
  EXPECT_EQ(std::ranges::count(written.ids, mask), 0);
  engine->watch({});
  ASSERT_TRUE(settings.set_text("page_cache", "prefix").has_value());
  const auto refusal = engine->start({.prompt = {2, 17, 60}, .max_tokens = 6, .parallel = &settings});
  ASSERT_FALSE(refusal.has_value());
  EXPECT_NE(refusal.error().message.find("encoder"), std::string::npos);
}

}  // namespace
}  // namespace plm
