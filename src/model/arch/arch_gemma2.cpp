// Gemma 2 (arXiv 2408.00118): norms around both branches, GELU gates, embeddings times sqrt(hidden_size), soft caps on
// scores and logits, a sliding window in every other layer, the first among them. The file's norm gains are 1 + w.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include <cmath>

#include "model/architecture.h"
#include "model/layers/dense_model.h"
#include "model/layers/gemma_form.h"

namespace plm {
namespace {

constexpr std::size_t kLayersOf27B = 46;  // the one whose scores are scaled by hidden_size / q_heads

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.norms = NormPlacement::around;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.shape.hidden_size));
  if (!file.has_key("attention.scale") && config.shape.layer_count == kLayersOf27B) {
    config.scores.scale = 1.0F / std::sqrt(static_cast<float>(config.attention.hidden_size) /
                                           static_cast<float>(config.attention.q_heads));
  }
  PLM_TRY_ASSIGN(const double score_cap, file.positive_real_or("attn_logit_softcapping", 50.0, 1e6));
  PLM_TRY_ASSIGN(const double logit_cap, file.positive_real_or("final_logit_softcapping", 30.0, 1e6));
  config.scores.soft_cap = static_cast<float>(score_cap);
  config.logit_cap = static_cast<float>(logit_cap);
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file, 4096));
  PLM_TRY_ASSIGN(const auto has_window, read_window_pattern(file, config.shape.layer_count, 2));
  for (std::size_t i = 0; i < config.layers.size(); ++i) config.layers[i].window = has_window[i] ? window : 0;
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"Gemma2ForCausalLM", "gemma2"},
                                        {"Gemma2ForSequenceClassification", "gemma2", true}};

Result<void> complete_draft(CheckpointDraft& draft) {
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (!draft.config.has(cap)) return draft.config.error(cap, "a number; this version always caps here");
  }
  return complete_gemma_draft(draft, 2, 10000);
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kGemmaTensors, complete_draft, true);

}  // namespace

extern constinit const Architecture arch_gemma2 = {
    .head = {.name = "gemma2",
             .summary = "Gemma 2: norms around the branches, soft caps, every other layer with a window",
             .source = "arXiv 2408.00118"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
