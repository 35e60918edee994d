// OLMo 2 (arXiv 2501.00656): norms behind the branches only, queries and keys normalised over all heads together,
// rotated by halves. OLMo 3 says "olmo2" too: three layers with a window, whose positions are never scaled, then one
// that sees all. Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr std::size_t kGlobalRope = 0, kLocalRope = 1;

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.norms = NormPlacement::after;
  config.query_key_norm = QueryKeyNorm::whole;
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  if (window > 0) {
    PLM_TRY_ASSIGN(Rope local, Rope::unscaled_from_file(file, config.attention.head_dim, "rope.freq_base", 10000.0));
    config.ropes.push_back(std::move(local));
    PLM_TRY_ASSIGN(const auto has_window, read_window_pattern(file, config.shape.layer_count, 4));
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
      config.layers[i] = has_window[i] ? LayerKind{window, kLocalRope} : LayerKind{0, kGlobalRope};
    }
  }
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"Olmo2ForCausalLM", "olmo2"},
                                        {"Olmo2ForSequenceClassification", "olmo2", true},
                                        {"Olmo3ForCausalLM", "olmo3"},
                                        {"Olmo3ForSequenceClassification", "olmo3", true}};
constexpr TensorRule kTensors[] = {
    {"layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {"layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  if (draft.kind.model_type == "olmo3") PLM_TRY(add_window_pattern(draft, 4));
  return complete_dense_draft(draft);
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kTensors, complete_draft);

}  // namespace

extern constinit const Architecture arch_olmo2 = {
    .head = {.name = "olmo2",
             .summary = "OLMo 2 and 3: norms behind the branches, normalised queries and keys",
             .source = "arXiv 2501.00656"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
