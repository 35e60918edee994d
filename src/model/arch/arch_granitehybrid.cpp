// Granite 4, hybrid: most layers a Mamba-2 mixer, a few attention, mostly without positions; experts and a shared
// network, or that alone; factors on embeddings, branches, scores and logits. Source: the model cards of
// granite-4.0-h, and arXiv 2405.21060 for its mixer. Tested by tests/model/test_hybrids.cpp against an independent
// float32 oracle.
#include <algorithm>

#include "model/architecture.h"
#include "model/layers/hybrid_model.h"
#include "model/layers/recurrent_settings.h"
#include "model/layers/rope_settings.h"

namespace plm {
namespace {

constexpr double kMostScale = 1e6;

Result<void> read_scales(const ModelFile& file, HybridConfig& config) {
  PLM_TRY_ASSIGN(const double embedding, file.positive_real_or("embedding_scale", 1, kMostScale));
  PLM_TRY_ASSIGN(const double residual, file.positive_real_or("residual_scale", 1, kMostScale));
  PLM_TRY_ASSIGN(const double logit, file.positive_real_or("logit_scale", 1, kMostScale));
  config.embedding_scale = static_cast<float>(embedding);
  config.residual_scale = static_cast<float>(residual);
  config.logit_scale = static_cast<float>(1 / logit);  // logits are divided by it
  return {};
}

// Which layers have attention: those with key and value heads.
Result<void> read_mixers(ModelFile& file, HybridConfig& config) {
  PLM_TRY_ASSIGN(const std::vector<std::size_t> heads, read_kv_heads(file, config.shape.layer_count));
  const std::size_t most = *std::ranges::max_element(heads);
  for (const std::size_t count : heads) {
    if (count != 0 && count != most) {
      return file.key_error("attention.head_count_kv", fmt::format("{} and {}", count, most),
                            "the same in all layers that have attention");
    }
    config.mixers.push_back(count == 0 ? Mixer::mamba : Mixer::attention);
  }
  if (most == 0) return {};
  PLM_TRY(read_hybrid_attention(file, most, config));
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  // The key says whether there are positions at all.
  PLM_TRY_ASSIGN(const bool is_rotated, file.boolean_or("rope.scaling.finetuned", true));
  if (is_rotated) config.rope = std::move(rope);
  return {};
}

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(HybridConfig config, read_hybrid_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(read_mixers(file, config));
  PLM_TRY(read_scales(file, config));
  PLM_TRY_ASSIGN(config.recurrent, RecurrentSize::from_file(file, config.shape.hidden_size));
  PLM_TRY_ASSIGN(const std::size_t experts, file.integer_or("expert_count", 0, {0, RouterRule::kMostExperts}));
  if (experts > 0) {
    PLM_TRY_ASSIGN(config.experts, read_experts(file, {.rule = {.scores = RouterRule::Scores::softmax_of_chosen}}));
  } else {
    PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  }
  return HybridModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr ConfigReader::IntegerRange kSizes{1, kMostSize}, kExpertCounts{0, RouterRule::kMostExperts};

bool has_experts(const ConfigReader& config) {
  return config.integer_or("num_local_experts", 0, kExpertCounts).value_or(0) > 0;
}
bool has_none(const ConfigReader& config) { return !has_experts(config); }

// Gate and up lie below one another: [2 ffn_size, hidden_size], of each expert.
Result<TensorCut> half(std::span<const std::uint64_t> shape, std::uint64_t which) {
  const std::uint64_t columns = shape.back(), rows = shape[shape.size() - 2] / 2;
  TensorCut cut{.dims = {columns, rows}, .first = which * rows * columns, .row_step = columns};
  if (shape.size() == 3) {
    cut.dims.push_back(shape.front());
    cut.matrix_step = 2 * rows * columns;
  }
  return cut;
}
Result<TensorCut> gate_half(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  if (shape.size() < 2) return config.error("intermediate_size", "that of matrices, not of vectors");
  return half(shape, 0);
}
Result<TensorCut> up_half(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  if (shape.size() < 2) return config.error("intermediate_size", "that of matrices, not of vectors");
  return half(shape, 1);
}

constexpr CheckpointClass kClasses[] = {{"GraniteMoeHybridForCausalLM", "granitemoehybrid"}};
constexpr auto kSettings = joined(
    std::to_array<SettingRule>({
        {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
        {.from = "hidden_size", .to = "embedding_length"},
        {.from = "num_attention_heads", .to = "attention.head_count"},
        {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
        {.from = "attention_multiplier", .to = "attention.scale", .kind = SettingKind::real, .max = 1e6},
        {.from = "embedding_multiplier",
         .to = "embedding_scale",
         .kind = SettingKind::real,
         .required = false,
         .max = 1e6},
        {.from = "residual_multiplier",
         .to = "residual_scale",
         .kind = SettingKind::real,
         .required = false,
         .max = 1e6},
        {.from = "logits_scaling", .to = "logit_scale", .kind = SettingKind::real, .required = false, .max = 1e6},
        {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
    }),
    kMambaSettings);
constexpr std::string_view kQueryHeads = "num_attention_heads", kKeyHeads = "num_key_value_heads";
constexpr std::string_view kSharedIn = "model.layers.{}.shared_mlp.input_linear.weight";
constexpr std::string_view kSharedOut = "model.layers.{}.shared_mlp.output_linear.weight";
constexpr std::string_view kExpertsIn = "model.layers.{}.block_sparse_moe.input_linear.weight";
constexpr auto kTensors =
    joined(std::to_array<TensorRule>({
               {"model.embed_tokens.weight", "token_embd.weight"},
               {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
               {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kQueryHeads},
               {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kKeyHeads},
               {"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
               {"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
               {"model.layers.{}.mamba.in_proj.weight", "blk.{}.ssm_in.weight"},
               {"model.layers.{}.mamba.in_proj.bias", "blk.{}.ssm_in.bias"},
               {"model.layers.{}.mamba.out_proj.weight", "blk.{}.ssm_out.weight"},
               {"model.layers.{}.mamba.out_proj.bias", "blk.{}.ssm_out.bias"},
               {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
               {.from = "model.layers.{}.block_sparse_moe.router.layer.weight",
                .to = "blk.{}.ffn_gate_inp.weight",
                .is_float32 = true},
               {.from = kExpertsIn, .to = "blk.{}.ffn_gate_exps.weight", .cut = gate_half},
               {.from = kExpertsIn, .to = "blk.{}.ffn_up_exps.weight", .cut = up_half},
               {"model.layers.{}.block_sparse_moe.output_linear.weight", "blk.{}.ffn_down_exps.weight"},
               {.from = kSharedIn, .to = "blk.{}.ffn_gate_shexp.weight", .cut = gate_half, .applies = has_experts},
               {.from = kSharedIn, .to = "blk.{}.ffn_up_shexp.weight", .cut = up_half, .applies = has_experts},
               {.from = kSharedOut, .to = "blk.{}.ffn_down_shexp.weight", .applies = has_experts},
               {.from = kSharedIn, .to = "blk.{}.ffn_gate.weight", .cut = gate_half, .applies = has_none},
               {.from = kSharedIn, .to = "blk.{}.ffn_up.weight", .cut = up_half, .applies = has_none},
               {.from = kSharedOut, .to = "blk.{}.ffn_down.weight", .applies = has_none},
               {"model.norm.weight", "output_norm.weight"},
               {"lm_head.weight", "output.weight"},
           }),
           kMambaTensors);

Result<void> add_ffn_settings(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  const auto add = [&](std::string_view key, std::uint64_t value) {
    draft.keys.add_u32(draft.key(key), static_cast<std::uint32_t>(value));
  };
  PLM_TRY_ASSIGN(const std::uint64_t experts, config.integer_or("num_local_experts", 0, kExpertCounts));
  PLM_TRY_ASSIGN(const std::uint64_t shared, config.integer("shared_intermediate_size", kSizes));
  if (experts == 0) {
    add("feed_forward_length", shared);
    return {};
  }
  PLM_TRY_ASSIGN(const std::uint64_t used, config.integer("num_experts_per_tok", {1, experts}));
  PLM_TRY_ASSIGN(const std::uint64_t wide, config.integer("intermediate_size", kSizes));
  add("feed_forward_length", wide);
  add("expert_count", experts);
  add("expert_used_count", used);
  add("expert_shared_feed_forward_length", shared);
  return {};
}

// Key and value heads of every layer; the names of the kinds differ by version.
Result<void> add_kv_heads(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  const std::string_view key = config.has("layer_types") ? "layer_types" : "layers_block_type";
  PLM_TRY_ASSIGN(const std::vector<std::string> kinds, config.texts_or_none(key));
  PLM_TRY_ASSIGN(const std::uint64_t layers, config.integer("num_hidden_layers", {1, kMostLayers}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", kSizes));
  PLM_TRY_ASSIGN(const std::uint64_t kv_heads, config.integer_or(kKeyHeads, heads, {1, heads}));
  if (kinds.size() != layers) return config.error(key, fmt::format("a list of {} kinds of layer", layers));
  std::vector<std::int32_t> counts;
  for (const std::string& kind : kinds) {
    const bool is_mamba = kind == "mamba" || kind == "linear_attention";
    if (!is_mamba && kind != "attention" && kind != "full_attention") {
      return config.error(key, "a list of mamba (or linear_attention) and attention (or full_attention)");
    }
    counts.push_back(is_mamba ? 0 : static_cast<std::int32_t>(kv_heads));
  }
  draft.keys.add_i32s(draft.key("attention.head_count_kv"), counts);
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(refuse_other_scans(config, "hidden_act"));
  PLM_TRY_ASSIGN(const bool has_bias, config.boolean_or("attention_bias", false));
  if (has_bias) return config.error("attention_bias", "false; this version has no biases here");
  PLM_TRY(add_kv_heads(draft));
  PLM_TRY(add_ffn_settings(draft));
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", kSizes));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", kSizes));
  PLM_TRY_ASSIGN(const std::uint64_t expand, config.integer_or("mamba_expand", 2, {1, 64}));
  draft.keys.add_u32(draft.key("ssm.inner_size"), static_cast<std::uint32_t>(expand * hidden));
  draft.keys.add_u32(draft.key("context_length"), 1U << 20);  // as converters say it
  const std::uint64_t head_dim = std::max<std::uint64_t>(1, hidden / heads);
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim));
  PLM_TRY_ASSIGN(const std::string positions, config.text_or("position_embedding_type", "nope"));
  if (positions != "nope" && positions != "rope") return config.error("position_embedding_type", "nope or rope");
  draft.keys.add_boolean(draft.key("rope.scaling.finetuned"), positions == "rope");
  return add_rope_settings(draft, head_dim);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_granitehybrid = {
    .head = {.name = "granitehybrid",
             .summary = "Granite 4: Mamba-2 layers with attention between them, experts, a shared network",
             .source = "arXiv 2405.21060"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
