// Mamba-2 (arXiv 2405.21060): every layer a state-space mixer and nothing else, no attention, no positions. Its state
// is as large after a million tokens as after one. Tested by tests/model/test_hybrids.cpp against an independent
// float32 oracle.
#include "model/architecture.h"
#include "model/layers/hybrid_model.h"
#include "model/layers/recurrent_settings.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(HybridConfig config, read_hybrid_config(file));
  PLM_TRY_ASSIGN(config.recurrent, RecurrentSize::from_file(file, config.shape.hidden_size));
  config.mixers.assign(config.shape.layer_count, Mixer::mamba);
  return HybridModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"Mamba2ForCausalLM", "mamba2"}};
constexpr SettingRule kSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "conv_kernel", .to = "ssm.conv_kernel", .min = 2, .max = 64},
    {.from = "state_size", .to = "ssm.state_size", .max = 4096},
    {.from = "num_heads", .to = "ssm.time_step_rank"},
    {.from = "n_groups", .to = "ssm.group_count"},
    {.from = "layer_norm_epsilon", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};
constexpr TensorRule kTensors[] = {
    {"backbone.embeddings.weight", "token_embd.weight"},
    {"backbone.layers.{}.norm.weight", "blk.{}.attn_norm.weight"},
    {"backbone.layers.{}.mixer.in_proj.weight", "blk.{}.ssm_in.weight"},
    {"backbone.layers.{}.mixer.in_proj.bias", "blk.{}.ssm_in.bias"},
    {.from = "backbone.layers.{}.mixer.conv1d.weight",
     .to = "blk.{}.ssm_conv1d.weight",
     .numbers = NumberChange::to_float},
    {"backbone.layers.{}.mixer.conv1d.bias", "blk.{}.ssm_conv1d.bias"},
    {"backbone.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"},
    {.from = "backbone.layers.{}.mixer.A_log",
     .to = "blk.{}.ssm_a",
     .numbers = NumberChange::minus_exp,
     .folded = kOneColumn},
    {.from = "backbone.layers.{}.mixer.D", .to = "blk.{}.ssm_d", .folded = kOneColumn},
    {.from = "backbone.layers.{}.mixer.norm.weight", .to = "blk.{}.ssm_norm.weight", .folded = "n_groups"},
    {"backbone.layers.{}.mixer.out_proj.weight", "blk.{}.ssm_out.weight"},
    {"backbone.layers.{}.mixer.out_proj.bias", "blk.{}.ssm_out.bias"},
    {"backbone.norm_f.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(refuse_other_scans(config, "hidden_act"));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_heads", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t head_dim, config.integer("head_dim", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t expand, config.integer_or("expand", 2, {1, 64}));
  if (heads * head_dim != expand * hidden) {
    return config.error("num_heads", fmt::format("expand * hidden_size / head_dim = {}", expand * hidden / head_dim));
  }
  draft.keys.add_u32(draft.key("ssm.inner_size"), static_cast<std::uint32_t>(expand * hidden));
  draft.keys.add_u32(draft.key("context_length"), 1U << 20);  // it has no end
  draft.keys.add_u32(draft.key("feed_forward_length"), 0);
  draft.keys.add_u32(draft.key("attention.head_count"), 0);
  return {};
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_mamba2 = {
    .head = {.name = "mamba2",
             .summary = "Mamba-2: state-space layers alone, with a state of fixed size",
             .source = "arXiv 2405.21060"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
