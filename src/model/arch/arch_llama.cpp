// The Llama family: Llama 1 to 3, SmolLM2, Yi, Mistral without window, and everything that says "llama" and is dense.
// Source: Touvron et al., arXiv 2302.13971; shapes and names as in GGUF. One layer:
//   h = x + W_o attention(rope(W_q n), rope(W_k n), W_v n),  n = norm(x)
//   x = h + W_down (silu(W_gate m) * W_up m),                m = norm(h)
// Tested by tests/model/test_arch_llama.cpp against an independent float32 oracle.
#include <algorithm>
#include <cmath>

#include "model/architecture.h"
#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/output_head.h"
#include "model/layers/rms_norm.h"
#include "model/layers/rope.h"
#include "model/layers/rope_settings.h"
#include "model/workspace.h"

namespace plm {
namespace {

constexpr std::size_t kMostLayers = 1024;
constexpr std::size_t kMostSize = 1U << 20;  // of any one dimension of the network

struct LlamaConfig {
  ModelShape shape;
  AttentionSize attention;
  std::size_t ffn_size = 0;
  float norm_epsilon = 0;
};

Result<void> read_attention(const ModelFile& file, LlamaConfig& config) {
  AttentionSize& attention = config.attention;
  attention.hidden_size = config.shape.hidden_size;
  PLM_TRY_ASSIGN(attention.q_heads, file.integer("attention.head_count", {1, kMostSize}));
  PLM_TRY_ASSIGN(attention.kv_heads,
                 file.integer_or("attention.head_count_kv", attention.q_heads, {1, attention.q_heads}));
  if (attention.q_heads % attention.kv_heads != 0) {
    return file.key_error("attention.head_count_kv", fmt::format("{}", attention.kv_heads),
                          fmt::format("a divisor of attention.head_count = {}", attention.q_heads));
  }
  if (!file.has_key("attention.key_length") && attention.hidden_size % attention.q_heads != 0) {
    return file.key_error("attention.head_count", fmt::format("{}", attention.q_heads),
                          fmt::format("a divisor of embedding_length = {}", attention.hidden_size));
  }
  const std::size_t share = std::max<std::size_t>(1, attention.hidden_size / attention.q_heads);
  PLM_TRY_ASSIGN(attention.head_dim, file.integer_or("attention.key_length", share, {2, 4096}));
  if (attention.head_dim % 2 != 0) {
    return file.key_error("attention.key_length", fmt::format("{}", attention.head_dim),
                          "even, since pairs of numbers are rotated");
  }
  PLM_TRY(file.integer_or("attention.value_length", attention.head_dim, {attention.head_dim, attention.head_dim}));
  return {};
}

// Keys of relatives of this architecture that would change the result if they were passed over.
Result<void> refuse_what_is_not_here(const ModelFile& file) {
  PLM_TRY_ASSIGN(const std::size_t experts, file.integer_or("expert_count", 0, {0, kMostSize}));
  if (experts > 0) {
    return file.key_error("expert_count", fmt::format("{}", experts), "0; this version has no mixture of experts");
  }
  return {};
}

Result<LlamaConfig> read_config(ModelFile& file) {
  LlamaConfig config;
  config.shape.architecture = file.architecture();
  PLM_TRY_ASSIGN(config.shape.layer_count, file.integer("block_count", {1, kMostLayers}));
  if (config.shape.layer_count != file.layers_in_file()) {
    return file.key_error("block_count", fmt::format("{}", config.shape.layer_count),
                          fmt::format("{}, as many layers as the file has tensors for", file.layers_in_file()));
  }
  PLM_TRY_ASSIGN(config.shape.hidden_size, file.integer("embedding_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(config.shape.trained_context, file.integer("context_length", {1, 1U << 30}));
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_rms_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  PLM_TRY(refuse_what_is_not_here(file));
  PLM_TRY(read_attention(file, config));
  PLM_TRY_ASSIGN(const std::size_t window, file.integer_or("attention.sliding_window", 0, {0, 1U << 30}));
  if (window > 0 && window < config.shape.trained_context) {
    file.warn(fmt::format("{}: llama.attention.sliding_window = {}: not applied; texts longer than that may differ",
                          file.path(), window));
  }
  // The embedding says how many tokens there are; vocab_size, when stated, must agree.
  if (const TensorEntry* table = file.gguf().find_tensor("token_embd.weight")) {  // else its loading fails
    config.shape.vocab_size = table->dims[1];
    PLM_TRY_ASSIGN(const std::size_t stated, file.integer_or("vocab_size", table->dims[1], {1, kMostSize}));
    if (stated != table->dims[1]) {
      return file.key_error("vocab_size", fmt::format("{}", stated),
                            fmt::format("{}, the rows of tensor token_embd.weight", table->dims[1]));
    }
  }
  config.shape.parameter_count = file.parameter_count();
  return config;
}

class LlamaModel : public Model {
 public:
  static Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device);

  [[nodiscard]] const ModelShape& shape() const override { return config_.shape; }
  [[nodiscard]] Result<StateLayout> state_layout(const StorageType& kv_type) const override;
  Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) override;

 private:
  struct Layer {
    RmsNorm attention_norm;
    Attention attention;
    RmsNorm ffn_norm;
    FeedForward ffn;
  };

  // Activations of one pass, reused by every layer.
  struct Activations {
    View x, normed, delta;
    AttentionScratch attention;
    FeedForwardScratch ffn;
  };

  LlamaModel(LlamaConfig config, Rope rope, Device& device)
      : config_(std::move(config)), rope_(std::move(rope)), device_(device), workspace_(device) {}

  Result<void> load_weights(WeightReader& reader);
  Result<void> load_layer(WeightReader& reader, std::size_t index);
  Result<Activations> take_activations(std::size_t rows);
  void run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const;

  LlamaConfig config_;
  Rope rope_;
  Device& device_;
  Workspace workspace_;
  OutputHead output_head_;
  std::vector<float> angles_;  // of the pass being enqueued

  std::unique_ptr<Weight> embedding_;
  std::vector<Layer> layers_;
  RmsNorm final_norm_;
  std::unique_ptr<Weight> head_;
};

Result<std::unique_ptr<Model>> LlamaModel::load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(LlamaConfig config, read_config(file));
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  std::unique_ptr<LlamaModel> model(new LlamaModel(std::move(config), std::move(rope), device));
  WeightReader look(file), take(file, device);
  PLM_TRY(model->load_weights(look));
  PLM_TRY(model->load_weights(take));
  return model;
}

Result<void> LlamaModel::load_weights(WeightReader& reader) {
  const ModelShape& shape = config_.shape;
  const MatrixSize table{.outputs = shape.vocab_size, .inputs = shape.hidden_size};
  PLM_TRY_ASSIGN(embedding_, reader.matrix("token_embd.weight", WeightRole::embedding, table));
  layers_.clear();
  for (std::size_t index = 0; index < shape.layer_count; ++index) PLM_TRY(load_layer(reader, index));
  PLM_TRY_ASSIGN(final_norm_, RmsNorm::load(reader, "output_norm", shape.hidden_size, config_.norm_epsilon));
  const bool tied = !reader.has("output.weight");
  PLM_TRY_ASSIGN(head_, reader.matrix(tied ? "token_embd.weight" : "output.weight", WeightRole::head, table));
  return {};
}

Result<void> LlamaModel::load_layer(WeightReader& reader, std::size_t index) {
  const std::string prefix = fmt::format("blk.{}", index);
  const std::size_t hidden = config_.shape.hidden_size;
  Layer& layer = layers_.emplace_back();
  PLM_TRY_ASSIGN(layer.attention_norm, RmsNorm::load(reader, prefix + ".attn_norm", hidden, config_.norm_epsilon));
  PLM_TRY_ASSIGN(layer.attention, Attention::load(reader, prefix, config_.attention, RopeLayout::interleaved));
  PLM_TRY_ASSIGN(layer.ffn_norm, RmsNorm::load(reader, prefix + ".ffn_norm", hidden, config_.norm_epsilon));
  PLM_TRY_ASSIGN(layer.ffn, FeedForward::load(reader, prefix, hidden, config_.ffn_size));
  return {};
}

Result<StateLayout> LlamaModel::state_layout(const StorageType& kv_type) const {
  StateLayout layout;
  for (std::size_t index = 0; index < config_.shape.layer_count; ++index) {
    PLM_TRY(layout.add_layer(kv_type, config_.attention.kv_heads, config_.attention.head_dim));
  }
  return layout;
}

Result<LlamaModel::Activations> LlamaModel::take_activations(std::size_t rows) {
  const AttentionSize& size = config_.attention;
  Activations at;
  for (View* view : {&at.x, &at.normed, &at.delta}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, config_.shape.hidden_size));
  }
  for (View* view : {&at.attention.queries, &at.attention.mixed}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.q_heads * size.head_dim));
  }
  for (View* view : {&at.attention.keys, &at.attention.values}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.kv_heads * size.head_dim));
  }
  for (View* view : {&at.ffn.gate, &at.ffn.up}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, config_.ffn_size));
  }
  return at;
}

Result<void> LlamaModel::enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) {
  const std::size_t count = rows.tokens.size();
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const Activations at, take_activations(count));
  PLM_TRY_ASSIGN(const View angles, workspace_.take(count, rope_.dimensions()));
  angles_.resize(count * rope_.dimensions());
  rope_.fill_angles(rows.positions, angles_);
  device_.upload(angles, std::as_bytes(std::span(angles_)));

  const LayerPass pass{device_, rows.table, layout, angles, probe};
  device_.embed(*embedding_, rows.tokens, at.x);
  pass.report("embed", at.x);
  for (std::size_t index = 0; index < layers_.size(); ++index) run_layer(pass, index, at);
  final_norm_(device_, at.x, at.normed);
  pass.report("final_norm", at.normed);
  return output_head_.enqueue(device_, workspace_, *head_, at.normed, rows);
}

void LlamaModel::run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  layer.attention_norm(pass.device, at.x, at.normed);
  layer.attention(pass, index, at.attention, at.normed, at.delta);
  if (pass.probe) pass.report(fmt::format("layer.{}.attn", index), at.delta);
  pass.device.add(at.x, at.delta);

  layer.ffn_norm(pass.device, at.x, at.normed);
  layer.ffn(pass, at.ffn, at.normed, at.delta);
  if (pass.probe) pass.report(fmt::format("layer.{}.ffn", index), at.delta);
  pass.device.add(at.x, at.delta);
  if (pass.probe) pass.report(fmt::format("layer.{}", index), at.x);
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {{"LlamaForCausalLM", "llama"}, {"MistralForCausalLM", "mistral"}};
constexpr SettingRule kSettings[] = {
    {.from = "num_hidden_layers", .to = "block_count", .max = kMostLayers},
    {.from = "max_position_embeddings", .to = "context_length", .max = 1U << 30},
    {.from = "hidden_size", .to = "embedding_length"},
    {.from = "intermediate_size", .to = "feed_forward_length"},
    {.from = "num_attention_heads", .to = "attention.head_count"},
    {.from = "num_key_value_heads", .to = "attention.head_count_kv", .required = false},
    {.from = "rms_norm_eps", .to = "attention.layer_norm_rms_epsilon", .kind = SettingKind::real, .max = 1},
    {.from = "head_dim", .to = "attention.key_length", .required = false, .max = 4096},
    {.from = "head_dim", .to = "attention.value_length", .required = false, .max = 4096},
    {.from = "vocab_size", .to = "vocab_size", .max = 1U << 24},
};
constexpr std::string_view kQueryHeads = "num_attention_heads", kKeyHeads = "num_key_value_heads";
constexpr TensorRule kTensors[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    {"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", kQueryHeads},
    {"model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", kQueryHeads},
    {"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", kKeyHeads},
    {"model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", kKeyHeads},
    {"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    {"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    {"model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    {"model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    {"model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    {"model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  const ConfigReader& config = draft.config;
  PLM_TRY_ASSIGN(const std::string activation, config.text_or("hidden_act", "silu"));
  if (activation != "silu") return config.error("hidden_act", "\"silu\"; this version has no other here");
  PLM_TRY_ASSIGN(const std::uint64_t context, config.integer("max_position_embeddings", {1, 1U << 30}));
  PLM_TRY_ASSIGN(const std::uint64_t window, config.integer_or("sliding_window", context, {1, 1U << 30}));
  if (window < context) {
    return config.error("sliding_window", fmt::format("absent or at least max_position_embeddings = {}; "
                                                      "this version has no attention windows here",
                                                      context));
  }
  PLM_TRY_ASSIGN(const std::uint64_t hidden, config.integer("hidden_size", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer("num_attention_heads", {1, kMostSize}));
  if (!config.has("head_dim") && hidden % heads != 0) {
    return config.error("num_attention_heads", fmt::format("a divisor of hidden_size = {}", hidden));
  }
  PLM_TRY_ASSIGN(const std::uint64_t head_dim,
                 config.integer_or("head_dim", std::max<std::uint64_t>(1, hidden / heads), {1, 4096}));
  draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(head_dim));
  return add_rope_settings(draft, head_dim);
}

constexpr HuggingFaceForm kForm = {.classes = kClasses,
                                   .settings = kSettings,
                                   .tensors = kTensors,
                                   .head = "lm_head.weight",
                                   .complete = complete_draft};

}  // namespace

extern constinit const Architecture arch_llama = {
    .head = {.name = "llama",
             .summary = "dense Llama family: rotary positions, grouped queries, SwiGLU, RMS norms",
             .source = "arXiv 2302.13971"},
    .load = &LlamaModel::load,
    .huggingface = &kForm,
};

}  // namespace plm
