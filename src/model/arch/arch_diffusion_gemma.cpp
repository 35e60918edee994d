// DiffusionGemma: a network of Gemma 4's kind, with a mixture of experts beside a dense feed-forward network, trained
// to refine a canvas of random tokens behind a text that it reads causally. Five layers with a window, then one that
// sees all, whose heads are wider, fewer for keys, and turned in a quarter of their dimensions only; these layers take
// their values from the keys. Text only. Keys and tensors are those of the published GGUF files. Tested by
// tests/model/test_canvas_model.cpp against transformers' class.
#include "model/architecture.h"
#include "model/layers/canvas_model.h"
#include "model/layers/dense_config.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{
    .noise = DiffusionNoise::uniform, .attention = DiffusionAttention::causal_context, .block_length = 256};

// One number for all layers, or one for each.
Result<std::vector<std::size_t>> read_kv_heads(const ModelFile& file, std::size_t layers) {
  constexpr std::string_view kKey = "attention.head_count_kv";
  if (file.is_array(kKey)) return file.integers(kKey, layers, {1, kMostSize});
  PLM_TRY_ASSIGN(const std::size_t heads, file.integer(kKey, {1, kMostSize}));
  return std::vector<std::size_t>(layers, heads);
}

Result<float> read_scale(ModelFile& file, std::size_t layer, std::string_view name) {
  const std::string tensor = fmt::format("blk.{}.{}.weight", layer, name);
  if (!file.has_tensor(tensor)) return 1.0F;
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file.tensor(tensor, {1, 1}));
  if (found.type != &quant_f32) {
    return fail(ErrorKind::bad_input, "{}: tensor {}: stored as {}, expected f32", file.path(), tensor,
                found.type->name());
  }
  PLM_TRY_ASSIGN(const TensorBytes data, file.gguf().read(*found.entry));
  float scale = 0;
  found.type->unpack(data.bytes.data(), &scale, 1);
  return scale;
}

Result<void> read_layers(ModelFile& file, CanvasConfig& config) {
  const std::size_t layers = config.shape.layer_count;
  PLM_TRY_ASSIGN(const std::size_t q_heads, file.integer("attention.head_count", {1, kMostSize}));
  PLM_TRY_ASSIGN(const std::size_t wide, file.integer("attention.key_length", {2, 4096}));
  PLM_TRY(file.integer_or("attention.value_length", wide, {wide, wide}));
  PLM_TRY_ASSIGN(const std::size_t narrow, file.integer_or("attention.key_length_swa", wide, {2, 4096}));
  PLM_TRY(file.integer_or("attention.value_length_swa", narrow, {narrow, narrow}));
  PLM_TRY_ASSIGN(config.window, read_window(file));
  PLM_TRY_ASSIGN(const std::vector<bool> has_window, read_window_pattern(file, layers, 6));
  PLM_TRY_ASSIGN(const std::vector<std::size_t> kv_heads, read_kv_heads(file, layers));
  for (std::size_t i = 0; i < layers; ++i) {
    if (q_heads % kv_heads[i] != 0) {
      return file.key_error("attention.head_count_kv", fmt::format("{}", kv_heads[i]),
                            fmt::format("a divisor of attention.head_count = {}", q_heads));
    }
    CanvasConfig::Layer& layer = config.layers.emplace_back();
    layer.has_window = config.window > 0 && has_window[i];
    layer.attention = {.hidden_size = config.shape.hidden_size,
                       .q_heads = q_heads,
                       .kv_heads = kv_heads[i],
                       .head_dim = has_window[i] ? narrow : wide};
    PLM_TRY_ASSIGN(layer.canvas_scale, read_scale(file, i, "layer_output_scale"));
    PLM_TRY_ASSIGN(layer.text_scale, read_scale(file, i, "enc_layer_output_scale"));
  }
  PLM_TRY_ASSIGN(config.rope, Rope::from_file(file, wide, config.shape.trained_context));
  PLM_TRY_ASSIGN(const std::size_t turned, file.integer_or("rope.dimension_count_swa", narrow, {2, narrow}));
  PLM_TRY_ASSIGN(const double base, file.positive_real_or("rope.freq_base_swa", 10000.0, 1e15));
  config.window_rope = Rope(turned / 2 * 2, base);
  return {};
}

// What other networks of the family have and this one has not.
Result<void> refuse_variants(const ModelFile& file) {
  for (const char* key : {"attention.shared_kv_layers", "embedding_length_per_layer_input"}) {
    PLM_TRY_ASSIGN(const std::size_t value, file.integer_or(key, 0, {0, kMostSize}));
    if (value != 0) return file.key_error(key, fmt::format("{}", value), "0; this network knows no other");
  }
  PLM_TRY(file.boolean_or("attention.causal", false));  // it reads both ways
  return {};
}

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  CanvasConfig config{.rope = Rope(2, 1), .window_rope = Rope(2, 1)};
  PLM_TRY_ASSIGN(config.shape, read_model_shape(file));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(const double epsilon, file.positive_real("attention.layer_norm_rms_epsilon", 1.0));
  config.norm_epsilon = static_cast<float>(epsilon);
  PLM_TRY_ASSIGN(const double cap, file.positive_real_or("final_logit_softcapping", 30, 1e6));
  config.logit_cap = static_cast<float>(cap);
  PLM_TRY(refuse_variants(file));
  PLM_TRY(read_layers(file, config));
  PLM_TRY_ASSIGN(config.experts,
                 read_experts(file, {.rule = {.is_normalised = true}, .activation = Activation::gelu_tanh}));
  PLM_TRY(file.integer_or("diffusion.canvas_length", 256, {1, kMostContext}));
  return CanvasModel::load(file, device, std::move(config));
}

}  // namespace

extern constinit const Architecture arch_diffusion_gemma = {
    .head = {.name = "diffusion-gemma",
             .aliases = "diffusion_gemma",
             .summary = "DiffusionGemma, text: Gemma 4 with experts that refines a canvas of noise",
             .source = "transformers 5.24, models/diffusion_gemma"},
    .load = &load,
    .diffusion = &kTraits,
};

}  // namespace plm
