// SmolLM3 (Bakouch et al., 2025): Llama in which every fourth layer knows no positions (NoPE, arXiv 2501.18795).
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr std::size_t kNoRopeInterval = 4;  // the file has no key for it

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(refuse_window(file, config));
  for (std::size_t i = kNoRopeInterval - 1; i < config.layers.size(); i += kNoRopeInterval) {
    config.layers[i].rope = LayerKind::kNoRope;
  }
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout, whose heads are rotated by halves.
constexpr CheckpointClass kClasses[] = {{"SmolLM3ForCausalLM", "smollm3"},
                                        {"SmolLM3ForSequenceClassification", "smollm3", true}};
constexpr std::string_view kQueryHeads = "num_attention_heads", kKeyHeads = "num_key_value_heads";
constexpr TensorRule kTensors[] = {
    {"layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kQueryHeads},
    {"layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", kQueryHeads},
    {"layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kKeyHeads},
    {"layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", kKeyHeads},
    {"layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
};

// The layers without positions are counted by an interval, or listed.
Result<void> check_positions(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const std::uint64_t interval,
                 config.integer_or("no_rope_layer_interval", kNoRopeInterval, {1, kMostLayers}));
  PLM_TRY_ASSIGN(const auto rotates, config.integers_or_none("no_rope_layers", {0, 1}));
  if (rotates.empty() && interval != kNoRopeInterval) {
    return config.error("no_rope_layer_interval", fmt::format("{}, which GGUF takes for granted", kNoRopeInterval));
  }
  for (std::size_t i = 0; i < rotates.size(); ++i) {
    if ((rotates[i] != 0) == ((i + 1) % kNoRopeInterval != 0)) continue;
    return config.error("no_rope_layers",
                        fmt::format("0 for every layer number {}, which GGUF takes for granted", kNoRopeInterval));
  }
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(refuse_windows(draft.config));
  PLM_TRY(check_positions(draft.config));
  return complete_dense_draft(draft, {.base = 2000000});
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kTensors, complete_draft, true);

}  // namespace

extern constinit const Architecture arch_smollm3 = {
    .head = {.name = "smollm3",
             .summary = "SmolLM3: Llama without positions in every fourth layer",
             .source = "arXiv 2501.18795"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
