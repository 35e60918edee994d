#include "model/diffusion_form.h"

#include "model/decoder_form.h"
#include "model/layers/dense_form.h"

namespace plm {
namespace {

constexpr std::string_view kMaskSetting = "mask_token_id";
constexpr std::string_view kBlockSettings[] = {"block_size", "bd_size", "block_length"};

Result<void> add_blocks(CheckpointDraft& draft, std::uint64_t length) {
  for (const std::string_view setting : kBlockSettings) {
    PLM_TRY_ASSIGN(length, draft.config.integer_or(setting, length, {1, 1U << 20}));
  }
  draft.keys.add_string("diffusion.attention", "block_causal");
  draft.keys.add_u32("diffusion.block_length", static_cast<std::uint32_t>(length));
  return {};
}

Result<void> add_mask_token(CheckpointDraft& draft, std::int32_t published) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::uint64_t vocabulary, config.integer("vocab_size", {1, 1U << 24}));
  PLM_TRY_ASSIGN(const std::uint64_t stated, config.integer_or(kMaskSetting, 0, {0, vocabulary - 1}));
  const bool is_stated = config.has(kMaskSetting);
  const auto known = static_cast<std::uint64_t>(published);
  if (!is_stated && (published < 0 || known >= vocabulary)) return {};
  draft.keys.add_u32("tokenizer.ggml.mask_token_id", static_cast<std::uint32_t>(is_stated ? stated : known));
  return {};
}

}  // namespace

Result<void> add_diffusion_settings(CheckpointDraft& draft, const DiffusionTraits& traits) {
  draft.keys.add_boolean(draft.key("attention.causal"), false);
  draft.keys.add_boolean("diffusion.shift_logits", traits.shifts_logits);
  if (traits.attention == DiffusionAttention::block_causal) PLM_TRY(add_blocks(draft, traits.block_length));
  return add_mask_token(draft, traits.mask_token);
}

Result<void> complete_diffusion_draft(CheckpointDraft& draft, const DiffusionTraits& traits) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(refuse_windows(draft.config));
  PLM_TRY(add_diffusion_settings(draft, traits));
  return complete_dense_draft(draft);
}

bool fills_masks(const ConfigReader& config) {
  const auto classes = config.texts_or_none("architectures");
  return classes.has_value() && !classes->empty() && classes->front().ends_with("ForMaskedLM");
}

bool has_own_words(const ConfigReader& config) {
  return fills_masks(config) && !config.boolean_or("tie_word_embeddings", true).value_or(true);
}

}  // namespace plm
