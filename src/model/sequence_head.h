// What is made of a whole text's hidden states: one vector by pooling, then, where the model has them, layers on that.
// There are two kinds: sentence embeddings (dense layers, length 1) and scores (the classifier of a cross-encoder or a
// reward model, which GGUF calls "cls"). It runs beside the network, on rows that were read from it, after its passes.
// Sources: sentence-transformers' modules; transformers' ...ForSequenceClassification; keys and names as in GGUF.
// Tested by tests/model/test_sequence_head.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/layers/layer_norm.h"
#include "model/layers/linear.h"

namespace plm {

struct Architecture;

/// How the hidden states of a text become one, by GGUF's numbers. `rank`: as the scores of the model want it.
enum class Pooling : std::uint32_t { none, mean, cls, last, rank };

// Keys, without the architecture's prefix.
inline constexpr std::string_view kPoolingKey = "pooling_type";
inline constexpr std::string_view kScorePoolingKey = "classifier.pooling_type";
inline constexpr std::string_view kScoreCurveKey = "classifier.activation";
inline constexpr std::string_view kLabelsKey = "classifier.output_labels";
inline constexpr std::string_view kNormalizeKey = "embedding.normalize";
inline constexpr std::string_view kEmbeddingTokensKey = "embedding.max_tokens";
inline constexpr std::string_view kPromptNamesKey = "embedding.prompt_names";
inline constexpr std::string_view kPromptTextsKey = "embedding.prompts";
inline constexpr std::string_view kStandardPromptKey = "embedding.default_prompt";
/// Tensor that tells a model that scores.
inline constexpr std::string_view kScoreTensor = "cls.output.weight";
inline constexpr std::size_t kMostDense = 8;
/// Of the dense layer number `index`: "dense_2" and so on, as llama.cpp counts (modules 0 and 1 come before it).
[[nodiscard]] std::string dense_name(std::size_t index);

class SequenceHead {
 public:
  /// Words in front of texts of a kind.
  struct Prompt {
    std::string name, text;
  };

  /// Takes the head of `file` to the device. Errors name key or tensor.
  static Result<SequenceHead> load(ModelFile& file, const Architecture& architecture, Device& device);
  /// The same without taking anything, so that a file with a fault is refused before it costs something.
  static Result<void> check(ModelFile& file, const Architecture& architecture);

  [[nodiscard]] bool gives_scores() const { return gives_scores_; }
  /// Never `none` or `rank`.
  [[nodiscard]] Pooling pooling() const { return pooling_; }
  [[nodiscard]] bool normalizes() const { return normalizes_; }  ///< embeddings are brought to length 1
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  /// Names of the outputs; as many, or none.
  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }
  /// Tokens of a text that count; 0: all.
  [[nodiscard]] std::size_t most_tokens() const { return most_tokens_; }
  [[nodiscard]] const std::vector<Prompt>& prompts() const { return prompts_; }
  /// The prompt of that name. Error (usage) lists those that there are.
  [[nodiscard]] Result<std::string> prompt(std::string_view name) const;
  /// Of texts that name none; mostly empty.
  [[nodiscard]] const std::string& standard_prompt() const { return standard_prompt_; }

  /// rows: [n, hidden_size], pooled. Result: [n, outputs()]. The device must have nothing enqueued.
  [[nodiscard]] Result<std::vector<float>> apply(Device& device, std::span<const float> rows) const;

 private:
  struct Stage {
    Linear linear;
    std::size_t outputs = 0;
    std::optional<Curve> curve;
    std::optional<LayerNorm> norm;
  };

  Result<void> read(WeightReader& reader, const Architecture& architecture);
  Result<void> read_scores(WeightReader& reader, const Architecture& architecture);
  Result<void> read_dense(WeightReader& reader);
  Result<void> read_texts(const ModelFile& file);
  Result<void> add_stage(WeightReader& reader, const std::string& name, std::size_t outputs, std::string_view curve);

  std::size_t hidden_size_ = 0;
  std::size_t outputs_ = 0;
  bool gives_scores_ = false;
  Pooling pooling_ = Pooling::mean;
  bool normalizes_ = true;
  std::size_t most_tokens_ = 0;
  std::vector<std::string> labels_;
  std::vector<Prompt> prompts_;
  std::string standard_prompt_;
  std::vector<Stage> stages_;
};

}  // namespace plm
