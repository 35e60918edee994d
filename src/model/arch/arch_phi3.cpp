// Phi-3, Phi-3.5 and Phi-4, dense (arXiv 2404.14219): Llama with fused query-key-value and gate-up tensors, heads
// rotated by halves (Phi-4-mini: in part), a sliding window, and the longrope scaling of the 128k models.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.is_fused = true;
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  for (LayerKind& layer : config.layers) layer.window = window;
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"Phi3ForCausalLM", "phi3"}, {"Phi3ForSequenceClassification", "phi3", true}};
constexpr TensorRule kTensors[] = {
    {"layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"layers.{}.self_attn.qkv_proj.weight", "blk.{}.attn_qkv.weight"},
    {"layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"layers.{}.mlp.gate_up_proj.weight", "blk.{}.ffn_up.weight"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(add_window(draft));
  // llama.cpp takes a missing key for Phi-3's own window.
  if (!draft.config.has("sliding_window")) draft.keys.add_u32(draft.key("attention.sliding_window"), 0);
  PLM_TRY_ASSIGN(const std::uint64_t context, draft.config.integer("max_position_embeddings", {1, kMostContext}));
  PLM_TRY_ASSIGN(const std::uint64_t original,
                 draft.config.integer_or("original_max_position_embeddings", context, {1, kMostContext}));
  draft.keys.add_u32(draft.key("rope.scaling.original_context_length"), static_cast<std::uint32_t>(original));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, read_head_dim(draft.config));
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim));
  return complete_dense_draft(draft, {.may_be_partial = true});
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kTensors, complete_draft);

}  // namespace

extern constinit const Architecture arch_phi3 = {
    .head = {.name = "phi3",
             .summary = "dense Phi-3 and Phi-4: Llama with fused tensors, a window, longrope",
             .source = "arXiv 2404.14219"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
