// gpt-oss (arXiv 2508.10925): attention with a sink for each head and biases everywhere, a window in every other layer,
// the first among them, and k of many experts, chosen by their scores and weighed by the softmax over the chosen, with
// a gate that is held within bounds. Its makers' YaRN does not begin and end at whole pairs; files have no key for
// that. Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/decoder_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.has_sinks = true;
  config.ffn_norm_name = "post_attention_norm";
  PLM_TRY_ASSIGN(config.ropes[0],
                 Rope::from_file(file, config.attention.head_dim, config.shape.trained_context, {.truncates = false}));
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  PLM_TRY_ASSIGN(const auto has_window, read_window_pattern(file, config.shape.layer_count, 2));
  for (std::size_t i = 0; i < config.layers.size(); ++i) config.layers[i].window = has_window[i] ? window : 0;
  const RouterRule rule{.scores = RouterRule::Scores::softmax_of_chosen};
  PLM_TRY(add_experts(file, {.rule = rule, .activation = Activation::clamped_swiglu}, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr double kLimit = 7, kSlope = 1.702;  // of the gate

Result<void> check_dimensions(const ConfigReader& config, std::span<const std::uint64_t> shape, std::size_t count) {
  if (shape.size() == count) return {};
  return config.error("num_local_experts",
                      fmt::format("a count of tensors with {} dimensions, not {}", count, shape.size()));
}

// [experts, hidden_size, 2 * ffn_size], whose columns are by turns those of gate and up, as rows.
template <std::uint64_t Turn>
Result<TensorCut> cut_gate_up(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  PLM_TRY(check_dimensions(config, shape, 3));
  return TensorCut{.dims = {shape[1], shape[2] / 2, shape[0]},
                   .first = Turn,
                   .step = shape[2],
                   .row_step = 2,
                   .matrix_step = shape[1] * shape[2]};
}

// [experts, ffn_size, hidden_size] as [experts, hidden_size, ffn_size].
Result<TensorCut> cut_down(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  PLM_TRY(check_dimensions(config, shape, 3));
  return TensorCut{
      .dims = {shape[1], shape[2], shape[0]}, .step = shape[2], .row_step = 1, .matrix_step = shape[1] * shape[2]};
}

// The same as MXFP4 has it: [experts, 2 * ffn_size, hidden_size], whose rows are by turns those of gate and up.
template <std::uint64_t Turn>
Result<TensorCut> cut_gate_up_rows(const ConfigReader&, std::span<const std::uint64_t> shape) {
  return TensorCut{.dims = {shape[2], shape[1] / 2, shape[0]},
                   .first = Turn * shape[2],
                   .step = 1,
                   .row_step = 2 * shape[2],
                   .matrix_step = shape[1] * shape[2]};
}
Result<TensorCut> all_rows(const ConfigReader&, std::span<const std::uint64_t> shape) {
  return TensorCut{
      .dims = {shape[2], shape[1], shape[0]}, .step = 1, .row_step = shape[2], .matrix_step = shape[1] * shape[2]};
}

template <std::uint64_t Turn>
Result<TensorCut> cut_gate_up_bias(const ConfigReader& config, std::span<const std::uint64_t> shape) {
  PLM_TRY(check_dimensions(config, shape, 2));
  return TensorCut{.dims = {shape[1] / 2, shape[0]}, .first = Turn, .step = 2, .row_step = shape[1]};
}

constexpr CheckpointClass kClasses[] = {{"GptOssForCausalLM", "gpt_oss"}};
constexpr auto kSettings = joined(joined(kDecoderSettings, kHeadSettings),
                                  std::to_array<SettingRule>({
                                      {.from = "num_local_experts", .to = "expert_count"},
                                      {.from = "num_experts_per_tok", .to = "expert_used_count"},
                                      {.from = "intermediate_size", .to = "expert_feed_forward_length"},
                                  }));
constexpr auto kOwnTensors = std::to_array<TensorRule>({
    {"model.layers.{}.self_attn.sinks", "blk.{}.attn_sinks.weight"},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight"},
    {.from = "model.layers.{}.mlp.router.weight", .to = "blk.{}.ffn_gate_inp.weight", .is_float32 = true},
    {"model.layers.{}.mlp.router.bias", "blk.{}.ffn_gate_inp.bias"},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj", .to = "blk.{}.ffn_gate_exps.weight", .cut = cut_gate_up<0>},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj", .to = "blk.{}.ffn_up_exps.weight", .cut = cut_gate_up<1>},
    {.from = "model.layers.{}.mlp.experts.down_proj", .to = "blk.{}.ffn_down_exps.weight", .cut = cut_down},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj_blocks",
     .to = "blk.{}.ffn_gate_exps.weight",
     .is_mxfp4 = true,
     .cut = cut_gate_up_rows<0>},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj_blocks",
     .to = "blk.{}.ffn_up_exps.weight",
     .is_mxfp4 = true,
     .cut = cut_gate_up_rows<1>},
    {.from = "model.layers.{}.mlp.experts.down_proj_blocks",
     .to = "blk.{}.ffn_down_exps.weight",
     .is_mxfp4 = true,
     .cut = all_rows},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj_bias",
     .to = "blk.{}.ffn_gate_exps.bias",
     .is_float32 = true,
     .cut = cut_gate_up_bias<0>},
    {.from = "model.layers.{}.mlp.experts.gate_up_proj_bias",
     .to = "blk.{}.ffn_up_exps.bias",
     .is_float32 = true,
     .cut = cut_gate_up_bias<1>},
    {.from = "model.layers.{}.mlp.experts.down_proj_bias", .to = "blk.{}.ffn_down_exps.bias", .is_float32 = true},
});
constexpr auto kTensors = joined(joined(kDecoderTensors, kHeadTensors), kOwnTensors);

// Layers with and without a window take turns, the first has one; that is all that a GGUF can say.
Result<void> check_turns(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const auto kinds, config.texts_or_none("layer_types"));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == (i % 2 == 0 ? "sliding_attention" : "full_attention")) continue;
    return config.error("layer_types", "\"sliding_attention\" and \"full_attention\" by turns");
  }
  return {};
}

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY(check_turns(config));
  PLM_TRY_ASSIGN(const double limit, config.positive_real_or("swiglu_limit", kLimit, 1e6));
  if (limit != kLimit) return config.error("swiglu_limit", fmt::format("{}; this version knows no other", kLimit));
  PLM_TRY_ASSIGN(const double slope, config.positive_real_or("swiglu_alpha", kSlope, 1e6));
  if (slope != kSlope) return config.error("swiglu_alpha", fmt::format("{}; this version knows no other", kSlope));
  return complete_decoder(draft);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .quant_method = "mxfp4",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_gpt_oss = {
    .head = {.name = "gpt-oss",
             .summary = "gpt-oss: experts in four bits, attention sinks, every other layer with a window",
             .source = "arXiv 2508.10925"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
