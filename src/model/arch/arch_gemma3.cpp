// Gemma 3, text (arXiv 2503.19786): Gemma 2 with normalised query and key heads in place of soft caps; five layers with
// a window, rotated with a base of their own and never scaled, then one that sees all. Files often leave out the base
// and the pattern. The file's norm gains are 1 + w.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include <cmath>

#include "model/architecture.h"
#include "model/layers/dense_model.h"
#include "model/layers/gemma_form.h"

namespace plm {
namespace {

constexpr std::size_t kLayersOf27B = 62;  // the one whose scores are scaled by hidden_size / q_heads
constexpr std::size_t kGlobalRope = 0, kLocalRope = 1;

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.norms = NormPlacement::around;
  config.query_key_norm = QueryKeyNorm::per_head;
  config.activation = Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.shape.hidden_size));
  if (!file.has_key("attention.scale") && config.shape.layer_count == kLayersOf27B) {
    config.scores.scale = 1.0F / std::sqrt(static_cast<float>(config.attention.hidden_size) /
                                           static_cast<float>(config.attention.q_heads));
  }
  if (file.has_key("final_logit_softcapping")) {
    PLM_TRY_ASSIGN(const double cap, file.positive_real("final_logit_softcapping", 1e6));
    config.logit_cap = static_cast<float>(cap);
  }
  PLM_TRY_ASSIGN(Rope local, Rope::unscaled_from_file(file, config.attention.head_dim, "rope.freq_base_swa", 10000.0));
  config.ropes.push_back(std::move(local));
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  PLM_TRY_ASSIGN(const auto has_window, read_window_pattern(file, config.shape.layer_count, 6));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const bool is_local = window > 0 && has_window[i];
    config.layers[i] = is_local ? LayerKind{window, kLocalRope} : LayerKind{0, kGlobalRope};
  }
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"Gemma3ForCausalLM", "gemma3_text"},
                                        {"Gemma3TextForSequenceClassification", "gemma3_text", true}};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  if (config.has("attn_logit_softcapping")) {
    return config.error("attn_logit_softcapping", "absent; this version caps no scores here");
  }
  PLM_TRY_ASSIGN(double base, config.positive_real_or("rope_local_base_freq", 10000, 1e15));
  PLM_TRY_ASSIGN(const auto ropes, config.section("rope_parameters"));
  if (ropes) {
    PLM_TRY_ASSIGN(const auto local, ropes->section("sliding_attention"));
    if (local) {
      PLM_TRY_ASSIGN(base, local->positive_real_or("rope_theta", base, 1e15));
    }
  }
  draft.keys.add_f32(draft.key("rope.freq_base_swa"), static_cast<float>(base));
  return complete_gemma_draft(draft, 6, 1000000);
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kGemmaTensors, complete_draft, true);

}  // namespace

extern constinit const Architecture arch_gemma3 = {
    .head = {.name = "gemma3",
             .summary = "Gemma 3, text: normalised queries and keys, five layers with a window to one without",
             .source = "arXiv 2503.19786"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
