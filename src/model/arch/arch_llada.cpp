// LLaDA (arXiv 2502.09992): Llama without a causal mask, trained to fill masks anywhere. What a row sees is a property
// of the pass, so the network is Llama's; files hold queries and keys in pairs, as those of llama do. Tested by
// tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_model.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr DiffusionTraits kTraits{.mask_token = 126336};

// The checkpoints in Hugging Face's layout, whose names are those of OLMo.
constexpr CheckpointClass kClasses[] = {{"LLaDAModelLM", "llada"}};
constexpr auto kSettings = std::to_array<SettingRule>({
    {.from = "n_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_sequence_length", .to = "context_length", .max = kMostContext},
    {.from = "d_model", .to = "embedding_length"},
    {.from = "mlp_hidden_size", .to = "feed_forward_length"},
    {.from = "n_heads", .to = "attention.head_count"},
    {.from = "n_kv_heads", .to = "attention.head_count_kv"},
    {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
});
constexpr std::string_view kPrefixes[] = {"model.transformer.", "transformer."};
constexpr auto kTensors = std::to_array<TensorRule>({
    {"wte.weight", "token_embd.weight"},
    {"blocks.{}.attn_norm.weight", "blk.{}.attn_norm.weight"},
    {"blocks.{}.q_proj.weight", "blk.{}.attn_q.weight", "n_heads"},
    {"blocks.{}.k_proj.weight", "blk.{}.attn_k.weight", "n_kv_heads"},
    {"blocks.{}.v_proj.weight", "blk.{}.attn_v.weight"},
    {"blocks.{}.attn_out.weight", "blk.{}.attn_output.weight"},
    {"blocks.{}.ff_norm.weight", "blk.{}.ffn_norm.weight"},
    {"blocks.{}.ff_proj.weight", "blk.{}.ffn_gate.weight"},
    {"blocks.{}.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"blocks.{}.ff_out.weight", "blk.{}.ffn_down.weight"},
    {"ln_f.weight", "output_norm.weight"},
    {"ff_out.weight", "output.weight"},
});

// The class can do more than the published checkpoints use.
Result<void> refuse_variants(const ConfigReader& config) {
  constexpr std::pair<std::string_view, bool> kSwitches[] = {
      {"alibi", false},        {"attention_layer_norm", false}, {"bias_for_layer_norm", false},
      {"include_bias", false}, {"include_qkv_bias", false},     {"input_emb_norm", false},
      {"rope", true},          {"scale_logits", false},         {"weight_tying", false},
  };
  for (const auto& [setting, expected] : kSwitches) {
    PLM_TRY_ASSIGN(const bool value, config.boolean_or(setting, expected));
    if (value != expected) return config.error(setting, fmt::format("{}; this version knows no other", expected));
  }
  PLM_TRY(demand_text(config, "activation_type", "silu"));
  PLM_TRY(demand_text(config, "block_type", "llama"));
  PLM_TRY(demand_text(config, "layer_norm_type", "rms"));
  PLM_TRY_ASSIGN(const std::uint64_t vocabulary, config.integer("vocab_size", {1, 1U << 24}));
  PLM_TRY(config.integer_or("embedding_size", vocabulary, {vocabulary, vocabulary}));
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(refuse_variants(draft.config));
  PLM_TRY_ASSIGN(const std::uint64_t hidden, draft.config.integer("d_model", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, draft.config.integer("n_heads", {1, kMostSize}));
  if (hidden % heads != 0) return draft.config.error("n_heads", fmt::format("a divisor of d_model = {}", hidden));
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(hidden / heads));
  PLM_TRY(add_diffusion_settings(draft, kTraits));
  return add_rope_settings(draft, hidden / heads, {.base = 500000});
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .prefixes = kPrefixes,
                                   .head = "model.transformer.ff_out.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_llada = {
    .head = {.name = "llada",
             .summary = "dense LLaDA: Llama that fills masks anywhere on the page",
             .source = "arXiv 2502.09992"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
