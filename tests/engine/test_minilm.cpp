// all-MiniLM-L6-v2, a model that people use, from its sentence-transformers folder: ten sentences, one of them empty
// and one cut at 256 tokens, against transformers in float32. The model is looked for in PLM_TEST_MINILM, then where
// `plm fetch minilm` puts it; without it, and under sanitizers, the tests are skipped. Covers src/engine/embedding.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/embedding.h"
#include "engine/engine_runs.h"
#include "model/oracle_numbers.h"

namespace plm {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string model_path() {
  if (const std::string path = environment("PLM_TEST_MINILM"); !path.empty()) return path;
  const std::string cache = environment("PLM_CACHE");
  return (cache.empty() ? environment("HOME") + "/.cache/plm" : cache) + "/minilm";
}

TEST(MiniLm, EmbeddingsEqualTransformers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "too large for a sanitizer";
#endif
  if (!std::filesystem::exists(model_path())) GTEST_SKIP() << "no " << model_path() << "; plm fetch minilm";
  const std::string golden = std::string(PLM_GOLDEN) + "/real/minilm";
  std::ifstream file(golden + ".json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Json known = parse_json(text, "golden").value();
  const auto oracle = SafetensorsFile::open(golden + ".safetensors").value();
  const auto sentences = known.at("sentences").get<std::vector<std::string>>();
  const auto engine = load_engine(model_path(), {.use = ModelUse::embedding}, {.threads = 2});
  EXPECT_EQ(most_text_tokens(*engine), 256U) << "sentence_bert_config.json";
  const auto all = embed(*engine, sentences).value();
  const auto first = embed(*engine, sentences, {.pooling = Pooling::cls, .normalizes = false}).value();
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto framed = frame_text(engine->tokenizer(), sentences[i], 256).value();
    EXPECT_EQ(framed.tokens, known.at("ids").at(i).get<std::vector<TokenId>>()) << i;
    const std::string index = std::to_string(i);
    EXPECT_LE(1 - cosine(all[i].values, golden_floats(*oracle, "mean_l2." + index)), 1e-5) << i;
    EXPECT_LE(largest_difference(all[i].values, golden_floats(*oracle, "mean_l2." + index)), 1e-5F) << i;
    EXPECT_LE(1 - cosine(first[i].values, golden_floats(*oracle, "cls." + index)), 1e-5) << i;
    EXPECT_EQ(all[i].is_cut, i == 9);
  }
}

}  // namespace
}  // namespace plm
