// Heads for whole texts: scores of every kind of classifier against an independent oracle, dense layers by hand, and
// what is refused.
#include "model/sequence_head.h"

#include <gtest/gtest.h>

#include "checkpoint_folder.h"
#include "model/checkpoint.h"
#include "oracle_numbers.h"
#include "single_sequence.h"

namespace plm {
namespace {

constexpr float kTolerance = 1e-4F;

struct Scorer {
  const char* name;
  const char* path;  ///< below the golden folder
  const char* score;
  Pooling pooling;
  bool every_row = false;  ///< the golden has scores for every token
};

const Scorer kScorers[] = {
    {"xlmr_reranker", "/oracle/xlmr_reranker-bf16.gguf", "score", Pooling::cls},
    {"xlmr_reranker", "/huggingface/xlmr_reranker", "score", Pooling::cls},
    {"bert_reranker", "/huggingface/bert_reranker", "scores", Pooling::cls},
    {"modernbert_reranker", "/huggingface/modernbert_reranker", "scores", Pooling::mean},
    {"llama_reward", "/huggingface/llama_reward", "score", Pooling::last},
    {"llama_reward", "/huggingface/llama_reward", "score_per_token", Pooling::last, true},
    {"qwen2_prm", "/huggingface/qwen2_prm", "logits", Pooling::last, true},
};

struct Loaded {
  std::shared_ptr<const GgufFile> file;
  std::unique_ptr<Device> device = make_cpu_device({.threads = 1});

  Result<SequenceHead> head() {
    ModelFile model_file = ModelFile::open(file).value();
    return SequenceHead::load(model_file, *find_architecture(model_file).value(), *device);
  }
};

std::vector<float> rows_to_score(const std::vector<std::vector<float>>& hidden, const Scorer& scorer) {
  if (scorer.every_row) return flat(hidden);
  if (scorer.pooling == Pooling::cls) return hidden.front();
  if (scorer.pooling == Pooling::last) return hidden.back();
  std::vector<float> mean(hidden.front().size());
  for (const auto& row : hidden) {
    for (std::size_t i = 0; i < row.size(); ++i) mean[i] += row[i] / static_cast<float>(hidden.size());
  }
  return mean;
}

class Scores : public testing::TestWithParam<Scorer> {};

TEST_P(Scores, EqualTheOracle) {
  const Scorer& scorer = GetParam();
  const std::string golden = std::string(PLM_GOLDEN) + "/oracle/" + scorer.name + ".golden.safetensors";
  const auto oracle = SafetensorsFile::open(golden).value();
  const auto file = open_checkpoint(PLM_GOLDEN + std::string(scorer.path)).value();
  SingleSequence sequence(file, {.threads = 1});
  Loaded loaded{file};
  const auto head = loaded.head();
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_TRUE(head->gives_scores());
  EXPECT_EQ(head->pooling(), scorer.pooling);
  const auto tokens = golden_ids(*oracle, "input_ids");
  const bool has_types = oracle->find("token_type_ids") != nullptr;
  const auto types = has_types ? golden_ids(*oracle, "token_type_ids") : std::vector<std::int32_t>();
  const bool is_causal = sequence.model->shape().is_causal;
  const auto hidden = is_causal ? sequence.append_hidden(tokens) : sequence.encode(tokens, types);
  const auto scores = head->apply(*loaded.device, rows_to_score(hidden, scorer));
  ASSERT_TRUE(scores.has_value());
  EXPECT_LE(largest_difference(*scores, golden_floats(*oracle, scorer.score)), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Oracle, Scores, testing::ValuesIn(kScorers), [](const auto& instance) {
  return std::string(instance.param.name) + "_" + std::to_string(instance.index);
});

TEST(SequenceHead, AScoringModelHasNoHeadOverItsVocabulary) {
  SingleSequence sequence(open_checkpoint(std::string(PLM_GOLDEN) + "/huggingface/llama_reward").value(),
                          {.threads = 1});
  EXPECT_THROW(sequence.append({5, 6}), std::runtime_error);
}

// A folder with a dense layer of two outputs behind the pooling: tanh(W x + b).
class DenseFolder : public CheckpointFolder {
 public:
  explicit DenseFolder(const std::string& settings) {
    add_file("modules.json",
             R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                 {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
                 {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
                 {"type": "sentence_transformers.models.Normalize", "path": "3_Normalize"}])");
    add_file("1_Pooling/config.json", R"({"pooling_mode_lasttoken": true})");
    add_file("2_Dense/config.json", settings);
    CheckpointFolder dense;
    dense.tensors.clear();
    std::vector<float> weight(2 * 16, 0.0F);
    weight[0] = 0.5F;       // output 0 takes half of input 0
    weight[16 + 1] = 2.0F;  // output 1 twice input 1
    dense.tensors["linear.weight"] = {{2, 16}, "F32", weight};
    dense.tensors["linear.bias"] = {{2}, "F32", {0.25F, -1.0F}};
    dense.write();
    std::filesystem::copy(dense.path() + "/model.safetensors", path() + "/2_Dense/model.safetensors");
  }
};

TEST(SequenceHead, AppliesTheDenseLayersOfSentenceTransformers) {
  std::vector<float> rows(2 * 16, 0.0F);
  rows[0] = 1;
  rows[1] = 0.5F;
  for (const auto& [name, is_tanh] : {std::pair{"activation.Tanh", true}, std::pair{"linear.Identity", false}}) {
    const DenseFolder folder(fmt::format(
        R"({{"in_features": 16, "out_features": 2, "bias": true, "activation_function": "torch.nn.modules.{}"}})",
        name));
    Loaded loaded{open_checkpoint(folder.path()).value()};
    const auto head = loaded.head();
    ASSERT_TRUE(head.has_value()) << head.error().message;
    EXPECT_EQ(head->pooling(), Pooling::last);
    EXPECT_TRUE(head->normalizes());
    EXPECT_FALSE(head->gives_scores());
    ASSERT_EQ(head->outputs(), 2U);
    const auto out = head->apply(*loaded.device, rows).value();
    const std::vector<float> expected{0.75F, 0.0F, 0.25F, -1.0F};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], is_tanh ? std::tanh(expected[i]) : expected[i], 1e-6);
  }
}

TEST(SequenceHead, WithoutLayersTheRowsComeBack) {
  const CheckpointFolder folder;
  Loaded loaded{open_checkpoint(folder.path()).value()};
  const auto head = loaded.head().value();
  EXPECT_EQ(head.pooling(), Pooling::last) << "of a decoder";
  const std::vector<float> rows(32, 1.5F);
  EXPECT_EQ(head.apply(*loaded.device, rows).value(), rows);
  const auto prompt = head.prompt("query");
  ASSERT_FALSE(prompt.has_value());
  EXPECT_NE(prompt.error().message.find("this model has none"), std::string::npos);
}

TEST(SequenceHead, RefusesWhatItCannotApply) {
  const auto message = [](std::vector<std::string> overrides) {
    const auto file = open_checkpoint(std::string(PLM_GOLDEN) + "/oracle/xlmr_reranker-bf16.gguf").value();
    Loaded loaded{GgufFile::overridden(file, overrides).value()};
    const auto head = loaded.head();
    return head.has_value() ? std::string("accepted") : head.error().message;
  };
  EXPECT_EQ(message({}), "accepted");
  EXPECT_NE(message({"bert.classifier.activation=str:sine"}).find("activation \"sine\" of cls"), std::string::npos);
  EXPECT_NE(message({"bert.pooling_type=7"}).find("bert.pooling_type = 7: must be between 0 and 4"), std::string::npos);
}

}  // namespace
}  // namespace plm
