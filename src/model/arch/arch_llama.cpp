// The Llama family: Llama 1 to 3, SmolLM2, Yi, Mistral with its sliding window, Mixtral with its experts, and
// everything else that says "llama". Source: Touvron et al., arXiv 2302.13971; Jiang et al., arXiv 2310.06825 and
// 2401.04088; shapes and names as in GGUF. Tested by tests/model/test_families.cpp against an independent float32
// oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  for (LayerKind& layer : config.layers) layer.window = window;
  PLM_TRY_ASSIGN(const std::size_t experts, file.integer_or("expert_count", 0, {0, RouterRule::kMostExperts}));
  if (experts > 0) PLM_TRY(add_experts(file, {.rule = {.is_normalised = true}}, config));
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout. Mixtral's experts are w1 (gate), w2 (down) and w3 (up).
constexpr CheckpointClass kClasses[] = {{"LlamaForCausalLM", "llama"},
                                        {"LlamaForSequenceClassification", "llama", true},
                                        {"MistralForCausalLM", "mistral"},
                                        {"MistralForSequenceClassification", "mistral", true},
                                        {"MixtralForCausalLM", "mixtral"}};
constexpr auto kSettings = joined(joined(kDecoderSettings, kHeadSettings),
                                  std::to_array<SettingRule>({
                                      {.from = "num_local_experts", .to = "expert_count", .required = false},
                                      {.from = "num_experts_per_tok", .to = "expert_used_count", .required = false},
                                  }));
constexpr std::string_view kQueryHeads = "num_attention_heads", kKeyHeads = "num_key_value_heads";
constexpr auto kAttention = std::to_array<TensorRule>({
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kQueryHeads},
    {"model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", kQueryHeads},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kKeyHeads},
    {"model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", kKeyHeads},
    {"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
});
constexpr auto kExperts = std::to_array<TensorRule>({
    {.from = "model.layers.{}.block_sparse_moe.gate.weight", .to = "blk.{}.ffn_gate_inp.weight", .is_float32 = true},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1.weight", "blk.{}.ffn_gate_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3.weight", "blk.{}.ffn_up_exps.weight"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2.weight", "blk.{}.ffn_down_exps.weight"},
});
constexpr auto kScores = std::to_array<TensorRule>({
    {"score.weight", "cls.output.weight"},
    {"score.bias", "cls.output.bias"},
});
constexpr auto kTensors =
    joined(joined(kDecoderTensors, kAttention), joined(joined(kFeedForwardTensors, kExperts), kScores));

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_decoder};

}  // namespace

extern constinit const Architecture arch_llama = {
    .head = {.name = "llama",
             .summary = "Llama family: rotary positions, grouped queries, SwiGLU; Mistral's window, Mixtral's experts",
             .source = "arXiv 2302.13971"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
