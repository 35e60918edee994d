#include "engine/walk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine_runs.h"
#include "model/oracle_numbers.h"

namespace plm {
namespace {

std::unique_ptr<Engine> load_watched(const std::string& path, Walker& walker, const EngineOptions& options = {}) {
  auto device = std::make_unique<WatchedDevice>(make_cpu_device({.threads = 1}), walker);
  auto engine = Engine::load(path, std::move(device), options);
  if (!engine.has_value()) throw std::runtime_error(engine.error().message);
  return std::move(*engine);
}

/// One head of the reference: entropy of its weights, the cell with the largest, and that weight.
struct Head {
  double entropy;
  std::uint32_t cell;
  double weight;
};

struct Reference {
  std::string name;  ///< of the golden file
  std::string gguf;
  std::vector<std::vector<Head>> layers;  ///< of the last row of input_ids, from transformers' eager attention
};

class WalkReferences : public ::testing::TestWithParam<Reference> {};

TEST_P(WalkReferences, HeadsLookWhereTheReferenceLooks) {
  const std::string folder = PLM_GOLDEN "/oracle/";
  Walker walker;
  const auto engine = load_watched(folder + GetParam().gguf, walker);
  const auto golden = SafetensorsFile::open(folder + GetParam().name + ".golden.safetensors").value();
  GenerationRequest request;
  request.prompt = golden_ids(*golden, "input_ids");
  const Walk walk = walker.walk(*engine, request).value();

  EXPECT_EQ(walk.rows, request.prompt.size());
  ASSERT_EQ(walk.layers.size(), GetParam().layers.size());
  for (std::size_t i = 0; i < walk.layers.size(); ++i) {
    const WalkLayer& layer = walk.layers[i];
    ASSERT_EQ(layer.heads.size(), GetParam().layers[i].size());
    for (std::size_t head = 0; head < layer.heads.size(); ++head) {
      SCOPED_TRACE(fmt::format("layer {}, head {}", i, head));
      const Head& wanted = GetParam().layers[i][head];
      EXPECT_NEAR(layer.heads[head].entropy, wanted.entropy, 1e-4);
      EXPECT_EQ(layer.heads[head].cell, wanted.cell);
      EXPECT_NEAR(layer.heads[head].weight, wanted.weight, 1e-4);
    }
    const auto hidden = golden_floats(*golden, fmt::format("hidden.layer.{}.out", i));
    const auto row = std::span(hidden).last(engine->shape().hidden_size);
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    EXPECT_NEAR(layer.norm, norm, 1e-4 * norm);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, WalkReferences,
    ::testing::Values(
        Reference{
            "llama",
            "llama-f32.gguf",
            {{{1.572577, 9, 0.536651}, {2.19308, 37, 0.356614}, {0.367369, 19, 0.935904}, {2.528544, 8, 0.252299}},
             {{1.439897, 21, 0.675632}, {1.34951, 27, 0.632551}, {1.164056, 34, 0.701809}, {2.391443, 30, 0.36506}}}},
        Reference{
            "gemma2",  // a cap on scores, and a window in every second layer
            "gemma2-bf16.gguf",
            {{{1.916057, 36, 0.259562}, {1.529889, 32, 0.448386}, {1.858484, 38, 0.284295}, {1.744943, 37, 0.27812}},
             {{2.996896, 21, 0.125165}, {3.294367, 14, 0.105065}, {2.971236, 14, 0.225784}, {3.258216, 26, 0.103734}},
             {{0.744534, 32, 0.798939}, {1.851512, 32, 0.296245}, {1.53852, 39, 0.430522}, {1.762417, 33, 0.345882}},
             {{3.063491, 2, 0.144782}, {3.175639, 18, 0.134409}, {3.03626, 19, 0.169017}, {2.96459, 8, 0.302248}}}},
        Reference{
            "gpt_oss_notrunc",  // sinks, and a window in every second layer
            "gpt_oss-bf16.gguf",
            {{{0.498739, 37, 0.808638}, {1.322387, 32, 0.524291}, {0.158606, 37, 0.970232}, {0.682558, 34, 0.099569}},
             {{0.930833, 4, 0.803417}, {0.892139, 15, 0.601625}, {1.812628, 34, 0.322075}, {1.053703, 2, 0.755734}}}},
        Reference{
            "deepseek_v3",  // latent attention
            "deepseek_v3-bf16.gguf",
            {{{1.067653, 6, 0.723035}, {3.066744, 27, 0.13462}, {1.550145, 16, 0.47048}, {2.063893, 28, 0.310477}},
             {{2.869825, 9, 0.21427}, {3.049824, 7, 0.141858}, {2.199679, 15, 0.375544}, {1.860991, 14, 0.547429}}}}),
    [](const auto& tested) { return tested.param.name; });

TEST(Walk, EndsWhereTheTextGoesOn) {
  Walker walker;
  const auto watched = load_watched(PLM_MODELS "/twin-ar.gguf", walker, {.batch_rows = 5});
  const auto plain = load_engine(PLM_MODELS "/twin-ar.gguf");
  GenerationRequest request;
  request.prompt = encoded(*watched, "S84901>");
  const Walk walk = walker.walk(*watched, request).value();
  request.max_tokens = 1;
  request.ignore_end = true;
  EXPECT_EQ(write(*plain, request).ids, std::vector<TokenId>{walk.token});

  // The last layer's reading is the model's own distribution, though the prompt came in pieces.
  EXPECT_EQ(walk.rows, (request.prompt.size() - 1) % 5 + 1);
  const WalkReading& reading = walk.layers.back().reading;
  ASSERT_TRUE(walk.trace.has_value());
  EXPECT_EQ(reading.likeliest.front().token, walk.token);
  ASSERT_EQ(walk.trace->top.size(), reading.likeliest.size());
  for (std::size_t i = 0; i < reading.likeliest.size(); ++i) {
    EXPECT_EQ(walk.trace->top[i].id, reading.likeliest[i].token);
    EXPECT_EQ(walk.trace->top[i].logit, static_cast<float>(reading.likeliest[i].logit)) << "bit for bit";
    EXPECT_NEAR(walk.trace->top[i].probability, reading.likeliest[i].probability, 1e-5);
  }
  EXPECT_NEAR(reading.statistics.entropy, walk.trace->raw.entropy, 1e-4);
  for (const WalkLayer& layer : walk.layers) {
    EXPECT_EQ(layer.cells_seen, request.prompt.size());
    EXPECT_GT(layer.cost.ms, 0);
    EXPECT_GT(layer.cost.state_bytes, 0U);
  }
}

TEST(Walk, AMaskedModelIsWalkedAtTheOpenCell) {
  Walker walker;
  const auto engine = load_watched(PLM_MODELS "/twin-mdm.gguf", walker);
  GenerationRequest request;
  request.prompt = encoded(*engine, "S84901>");
  const Walk walk = walker.walk(*engine, request).value();
  EXPECT_FALSE(walk.trace.has_value());
  EXPECT_EQ(walk.layers.back().reading.likeliest.front().token, walk.token);
  EXPECT_EQ(walk.layers.front().cells_seen, request.prompt.size() + 1);
}

TEST(Walk, ExpertsAreThoseOfTheRow) {
  Walker walker;
  const auto engine = load_watched(PLM_GOLDEN "/oracle/gpt_oss-bf16.gguf", walker);
  GenerationRequest request;
  request.prompt = {30, 59, 311, 224};
  const Walk walk = walker.walk(*engine, request).value();
  for (const WalkLayer& layer : walk.layers) {
    ASSERT_FALSE(layer.experts.empty());
    double sum = 0;
    for (const WalkExpert& expert : layer.experts) sum += expert.weight;
    EXPECT_NEAR(sum, 1, 1e-5) << "a softmax over the chosen";
  }
}

TEST(Walk, InterruptedSaysSo) {
  Walker walker;
  const auto engine = load_watched(PLM_MODELS "/twin-ar.gguf", walker);
  GenerationRequest request;
  request.prompt = {65, 66};
  EXPECT_EQ(walker.walk(*engine, request, [] { return true; }).error().kind, ErrorKind::interrupted);
  EXPECT_TRUE(walker.walk(*engine, request).has_value()) << "and can be walked again";
}

}  // namespace
}  // namespace plm
