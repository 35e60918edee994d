// BERT (Devlin et al., arXiv 1810.04805) and what has its shape: MiniLM, bge, e5, and RoBERTa and XLM-R (arXiv
// 1911.02116), whose first rows of positions, never used, are left out of the file. Norms behind the sums, learned
// positions, biases everywhere, GELU in its exact form. Checkpoints that keep the head they were trained with
// fill masks (Mask-Predict, arXiv 1904.09324).
// Tested by tests/model/test_encoders.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/diffusion_form.h"
#include "model/layers/encoder_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(EncoderConfig config, read_encoder_config(file));
  config.learns_positions = true;
  config.shape.most_positions = config.shape.trained_context;
  return EncoderModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {
    {"BertModel", "bert"},
    {"BertForMaskedLM", "bert"},
    {"BertForSequenceClassification", "bert", true},
    {"RobertaModel", "roberta"},
    {"RobertaForMaskedLM", "roberta"},
    {"RobertaForSequenceClassification", "roberta", true},
    {"XLMRobertaModel", "xlm-roberta"},
    {"XLMRobertaForMaskedLM", "xlm-roberta"},
    {"XLMRobertaForSequenceClassification", "xlm-roberta", true},
    {"CamembertModel", "camembert"},
    {"CamembertForMaskedLM", "camembert"},
    {"CamembertForSequenceClassification", "camembert", true},
};
constexpr SettingRule kSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 24},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "intermediate_size", .to = "feed_forward_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "layer_norm_eps", .to = "attention.layer_norm_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};
constexpr std::string_view kPrefixes[] = {"bert.", "roberta."};
constexpr TensorRule kTensors[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"encoder.layer.{}.attention.self.query.weight", "blk.{}.attn_q.weight"},
    {"encoder.layer.{}.attention.self.query.bias", "blk.{}.attn_q.bias"},
    {"encoder.layer.{}.attention.self.key.weight", "blk.{}.attn_k.weight"},
    {"encoder.layer.{}.attention.self.key.bias", "blk.{}.attn_k.bias"},
    {"encoder.layer.{}.attention.self.value.weight", "blk.{}.attn_v.weight"},
    {"encoder.layer.{}.attention.self.value.bias", "blk.{}.attn_v.bias"},
    {"encoder.layer.{}.attention.output.dense.weight", "blk.{}.attn_output.weight"},
    {"encoder.layer.{}.attention.output.dense.bias", "blk.{}.attn_output.bias"},
    {"encoder.layer.{}.attention.output.LayerNorm.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layer.{}.attention.output.LayerNorm.bias", "blk.{}.attn_output_norm.bias"},
    {"encoder.layer.{}.intermediate.dense.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layer.{}.intermediate.dense.bias", "blk.{}.ffn_up.bias"},
    {"encoder.layer.{}.output.dense.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layer.{}.output.dense.bias", "blk.{}.ffn_down.bias"},
    {"encoder.layer.{}.output.LayerNorm.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layer.{}.output.LayerNorm.bias", "blk.{}.layer_output_norm.bias"},
    // The head of BERT's classes, then of RoBERTa's.
    {"pooler.dense.weight", "cls.weight"},
    {"pooler.dense.bias", "cls.bias"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
    {"classifier.dense.weight", "cls.weight"},
    {"classifier.dense.bias", "cls.bias"},
    {"classifier.out_proj.weight", "cls.output.weight"},
    {"classifier.out_proj.bias", "cls.output.bias"},
    // The head that fills masks, of BERT, then of RoBERTa; the bias stands twice.
    {.from = "cls.predictions.transform.dense.weight", .to = "output_transform.weight", .applies = fills_masks},
    {.from = "cls.predictions.transform.dense.bias", .to = "output_transform.bias", .applies = fills_masks},
    {.from = "cls.predictions.transform.LayerNorm.weight",
     .to = "output_transform_norm.weight",
     .applies = fills_masks},
    {.from = "cls.predictions.transform.LayerNorm.bias", .to = "output_transform_norm.bias", .applies = fills_masks},
    {.from = "cls.predictions.bias", .to = "output.bias", .applies = fills_masks},
    {.from = "cls.predictions.decoder.weight", .to = "output.weight", .applies = has_own_words},
    {.from = "cls.predictions.decoder.bias", .to = "output.bias", .applies = is_never_read},
    {.from = "lm_head.dense.weight", .to = "output_transform.weight", .applies = fills_masks},
    {.from = "lm_head.dense.bias", .to = "output_transform.bias", .applies = fills_masks},
    {.from = "lm_head.layer_norm.weight", .to = "output_transform_norm.weight", .applies = fills_masks},
    {.from = "lm_head.layer_norm.bias", .to = "output_transform_norm.bias", .applies = fills_masks},
    {.from = "lm_head.bias", .to = "output.bias", .applies = fills_masks},
    {.from = "lm_head.decoder.weight", .to = "output.weight", .applies = has_own_words},
    {.from = "lm_head.decoder.bias", .to = "output.bias", .applies = is_never_read},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::string curve, config.text_or("hidden_act", "gelu"));
  if (curve != "gelu") return config.error("hidden_act", "\"gelu\"; this version has no other here");
  PLM_TRY_ASSIGN(const std::string positions, config.text_or("position_embedding_type", "absolute"));
  if (positions != "absolute") return config.error("position_embedding_type", "\"absolute\"");
  draft.keys.add_boolean(draft.key("attention.causal"), false);
  if (draft.kind.model_type == "bert") return {};
  // Positions of RoBERTa begin behind the number of the token for padding; the rows before are never used.
  PLM_TRY_ASSIGN(const std::uint64_t padding, config.integer_or("pad_token_id", 1, {0, 1U << 20}));
  PLM_TRY_ASSIGN(const std::uint64_t rows, config.integer("max_position_embeddings", {padding + 2, 1U << 24}));
  draft.skipped_rows["position_embd.weight"] = static_cast<std::size_t>(padding + 1);
  draft.keys.add_u32(draft.key("context_length"), static_cast<std::uint32_t>(rows - padding - 1));
  return {};
}

constexpr HuggingFaceForm kForm = {
    .classes = kClasses, .settings = kSettings, .tensors = kTensors, .prefixes = kPrefixes, .complete = complete_draft};

constexpr DiffusionTraits kTraits{};

}  // namespace

extern constinit const Architecture arch_bert = {
    .head = {.name = "bert",
             .summary = "BERT, MiniLM, bge, RoBERTa, XLM-R: encoders with learned positions",
             .source = "arXiv 1810.04805"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
    .is_encoder = true,
};

}  // namespace plm
