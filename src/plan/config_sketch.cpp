#include "plan/config_sketch.h"

#include <algorithm>
#include <initializer_list>

#include "plan/families.h"

namespace plm {
namespace {

using Limits = SketchLimits;
using Names = std::initializer_list<std::string_view>;

// Settings that go by several names; the first error is kept, and what is read after it does not count.
class ConfigSizes {
 public:
  explicit ConfigSizes(const ConfigReader& config) : config_(config) {}

  std::uint64_t number(Names names, std::uint64_t otherwise, std::uint64_t most) {
    for (const std::string_view name : names) {
      if (!config_.has(name)) continue;
      const auto value = config_.integer(name, {0, most});
      if (value.has_value()) return *value;
      keep(value.error());
      return otherwise;
    }
    return otherwise;
  }
  std::uint64_t needed(Names names, std::uint64_t most) {
    for (const std::string_view name : names) {
      if (!config_.has(name)) continue;
      const auto value = config_.integer(name, {1, most});
      if (value.has_value()) return *value;
      keep(value.error());
      return 1;
    }
    keep(config_.integer(*names.begin(), {1, most}).error());
    return 1;
  }
  bool truth(std::string_view name, bool otherwise) {
    const auto value = config_.boolean_or(name, otherwise);
    if (!value.has_value()) keep(value.error());
    return value.value_or(otherwise);
  }
  std::vector<std::string> texts(Names names) {
    for (const std::string_view name : names) {
      if (!config_.has(name)) continue;
      auto value = config_.texts_or_none(name);
      if (value.has_value()) return std::move(*value);
      keep(value.error());
    }
    return {};
  }
  std::vector<std::uint64_t> numbers(std::string_view name, std::uint64_t most) {
    auto value = config_.integers_or_none(name, {0, most});
    if (value.has_value()) return std::move(*value);
    keep(value.error());
    return {};
  }
  std::string text(std::string_view name) {
    const auto value = config_.text_or(name, "");
    if (!value.has_value()) keep(value.error());
    return value.value_or("");
  }
  [[nodiscard]] bool has(std::string_view name) const { return config_.has(name); }
  void refuse(std::string_view name, std::string_view rule) { keep(config_.error(name, rule).value()); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void keep(const Error& error) {
    if (!failure_.has_value()) failure_ = error;
  }

  const ConfigReader& config_;
  std::optional<Error> failure_;
};

// What mixes the rows of one layer, in the words of `layer_types` and the like.
enum class LayerUse : std::uint8_t { full, windowed, recurrent, convolution, both, experts_only, network_only };

class ConfigLayers {
 public:
  ConfigLayers(ConfigSizes& sizes, const Family& family) : sizes_(sizes), family_(family) {
    count_ = sizes.needed({"num_hidden_layers", "n_layers", "n_layer", "num_layers"}, Limits::kLayers);
    hidden_ = sizes.needed({"hidden_size", "d_model", "n_embd"}, Limits::kHidden);
    find_window();
    find_uses();
    read_feed_forward();
  }

  [[nodiscard]] std::uint64_t hidden() const { return hidden_; }

  void add_to(ModelSketch& sketch) {
    for (std::size_t index = 0; index < count_; ++index) {
      LayerSketch layer = make_layer(index);
      const auto is_same = [&](const LayerSketch& kind) {
        return kind.mixers == layer.mixers && kind.feed_forward == layer.feed_forward && kind.norm == layer.norm;
      };
      auto kind = std::ranges::find_if(sketch.kinds, is_same);
      if (kind == sketch.kinds.end()) kind = sketch.kinds.insert(kind, std::move(layer));
      sketch.layers.push_back(static_cast<std::uint32_t>(kind - sketch.kinds.begin()));
    }
  }

 private:
  void find_window() {
    if (sizes_.has("use_sliding_window") && !sizes_.truth("use_sliding_window", true)) return;
    window_ = sizes_.number({"sliding_window", "attention_chunk_size", "local_attention"},
                            family_.window_every > 0 ? family_.window : 0, Limits::kTokens);
    if (family_.opens_wide && window_ > 0) ++window_;  // so many to both sides together, and the row itself
  }

  static std::optional<LayerUse> use_of(std::string_view word) {
    if (word == "full_attention" || word == "attention" || word == "*") return LayerUse::full;
    if (word == "sliding_attention" || word == "chunked_attention") return LayerUse::windowed;
    if (word == "linear_attention" || word == "mamba" || word == "M") return LayerUse::recurrent;
    if (word == "conv") return LayerUse::convolution;
    if (word == "hybrid") return LayerUse::both;
    if (word == "moe" || word == "E") return LayerUse::experts_only;
    if (word == "mlp" || word == "-") return LayerUse::network_only;
    return std::nullopt;
  }

  void find_uses() {
    uses_.assign(count_, LayerUse::full);
    std::vector<std::string> words = sizes_.texts({"layer_types", "layers_block_type"});
    for (const char letter : sizes_.text("hybrid_override_pattern")) words.emplace_back(1, letter);
    if (!words.empty()) return take_words(words);
    if (sizes_.has("full_attn_idxs"))
      return take_attention(sizes_.numbers("full_attn_idxs", Limits::kLayers), LayerUse::convolution);
    if (sizes_.has("full_attention_interval") || sizes_.has("linear_num_value_heads")) {
      const std::uint64_t every =
          std::max<std::uint64_t>(sizes_.number({"full_attention_interval"}, 4, Limits::kLayers), 1);
      for (std::size_t i = 0; i < count_; ++i) uses_[i] = i % every == every - 1 ? LayerUse::full : LayerUse::recurrent;
      return;
    }
    const bool has_heads = sizes_.has("num_attention_heads") || sizes_.has("n_heads") || sizes_.has("n_head");
    if (is_state_space()) {
      uses_.assign(count_, has_heads ? LayerUse::both : LayerUse::recurrent);
      return;
    }
    const std::uint64_t every =
        sizes_.number({"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"},
                      family_.window_every, Limits::kLayers);
    for (std::size_t i = 0; window_ > 0 && i < count_; ++i) {
      const bool is_wide = every > 0 && (family_.opens_wide ? i % every == 0 : i % every == every - 1);
      if (!is_wide) uses_[i] = LayerUse::windowed;
    }
  }

  void take_words(const std::vector<std::string>& words) {
    if (words.size() < count_) {
      return sizes_.refuse(sizes_.has("layer_types") ? "layer_types" : "layers_block_type", "one word for each layer");
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const auto use = use_of(words[i]);
      if (!use.has_value()) return sizes_.refuse("layer_types", "words that say what kind of attention a layer has");
      uses_[i] = *use == LayerUse::windowed && window_ == 0 ? LayerUse::full : *use;
    }
  }

  void take_attention(const std::vector<std::uint64_t>& layers, LayerUse others) {
    uses_.assign(count_, others);
    for (const std::uint64_t layer : layers) {
      if (layer < count_) uses_[layer] = LayerUse::full;
    }
  }

  [[nodiscard]] bool is_state_space() const {
    return sizes_.has("mamba_d_state") || sizes_.has("ssm_state_size") || sizes_.has("state_size");
  }

  [[nodiscard]] AttentionMixer attention(bool is_windowed) {
    AttentionMixer m{.window = is_windowed ? window_ : 0};
    m.q_heads = sizes_.needed({"num_attention_heads", "n_heads", "n_head"}, Limits::kHeads);
    m.kv_heads = sizes_.number({"num_key_value_heads", "num_kv_heads", "n_kv_heads"}, m.q_heads, Limits::kHeads);
    if (sizes_.truth("multi_query", false) && !sizes_.truth("new_decoder_architecture", false)) m.kv_heads = 1;
    m.head_size = sizes_.number({"head_dim"}, hidden_ / m.q_heads, Limits::kHeadSize);
    // Gemma 4 has wider heads, and fewer, where there is no window.
    if (!is_windowed && sizes_.has("global_head_dim")) {
      m.head_size = sizes_.number({"global_head_dim"}, m.head_size, Limits::kHeadSize);
      m.kv_heads = sizes_.number({"num_global_key_value_heads"}, m.kv_heads, Limits::kHeads);
      m.values_are_keys = sizes_.truth("attention_k_eq_v", false);
    }
    if (m.kv_heads == 0 || m.head_size == 0) sizes_.refuse("num_key_value_heads", "at least 1, as head_dim");
    if (std::max(m.q_heads, m.kv_heads) * m.head_size > Limits::kColumns) {
      sizes_.refuse("head_dim", fmt::format("such that all heads have at most {} numbers", Limits::kColumns));
    }
    const bool has_bias = sizes_.truth("attention_bias", false) || sizes_.truth("include_qkv_bias", false);
    m.has_gate = family_.has_attention_gate || sizes_.truth("attn_output_gate", false);
    m.has_qkv_bias = family_.has_qkv_bias || has_bias || sizes_.truth("use_qkv_bias", false);
    m.has_output_bias = family_.has_output_bias || (has_bias && !family_.has_qkv_bias);
    m.has_head_norms = family_.has_head_norms;
    m.has_sinks = family_.has_sinks;
    return m;
  }

  [[nodiscard]] Mixer attention_or_latent(bool is_windowed) {
    if (!sizes_.has("kv_lora_rank")) return attention(is_windowed);
    return LatentMixer{.q_heads = sizes_.needed({"num_attention_heads"}, Limits::kHeads),
                       .q_rank = sizes_.number({"q_lora_rank"}, 0, Limits::kHidden),
                       .kv_rank = sizes_.needed({"kv_lora_rank"}, Limits::kHidden),
                       .rope_size = sizes_.needed({"qk_rope_head_dim"}, Limits::kHeadSize),
                       .plain_size = sizes_.needed({"qk_nope_head_dim"}, Limits::kHeadSize),
                       .value_size = sizes_.needed({"v_head_dim"}, Limits::kHeadSize)};
  }

  [[nodiscard]] Mixer recurrent() {
    if (sizes_.has("linear_attn_config")) {
      sizes_.refuse("linear_attn_config", "left out: this kind of layer is planned for from a description of sizes");
    }
    if (sizes_.has("linear_num_value_heads")) {
      return DeltaMixer{.key_heads = sizes_.needed({"linear_num_key_heads"}, Limits::kHeads),
                        .key_size = sizes_.needed({"linear_key_head_dim"}, Limits::kHeadSize),
                        .value_heads = sizes_.needed({"linear_num_value_heads"}, Limits::kHeads),
                        .value_size = sizes_.needed({"linear_value_head_dim"}, Limits::kHeadSize),
                        .taps = sizes_.needed({"linear_conv_kernel_dim"}, 64)};
    }
    StateSpaceMixer m{.inner_size = 0,
                      .groups = sizes_.number({"mamba_n_groups", "n_groups"}, 1, Limits::kHeads),
                      .state_size = sizes_.needed({"mamba_d_state", "ssm_state_size", "state_size"}, Limits::kHeadSize),
                      .heads = sizes_.needed({"mamba_n_heads", "mamba_num_heads", "num_heads"}, Limits::kHeads),
                      .taps = sizes_.needed({"mamba_d_conv", "conv_kernel"}, 64)};
    const std::uint64_t head = sizes_.number({"mamba_d_head", "mamba_head_dim", "head_dim"}, 0, Limits::kHeadSize);
    const std::uint64_t expand = sizes_.number({"mamba_expand", "expand"}, 2, 64);
    m.inner_size = sizes_.number({"mamba_d_ssm"}, head > 0 ? m.heads * head : expand * hidden_, Limits::kFeedForward);
    m.has_conv_bias = sizes_.truth("mamba_conv_bias", sizes_.truth("use_conv_bias", true));
    m.has_gated_norm = sizes_.truth("mamba_rms_norm", !sizes_.has("mamba_d_ssm"));
    return m;
  }

  void read_feed_forward() {
    dense_.size = sizes_.number({"intermediate_size", "mlp_hidden_size", "n_inner", "ffn_hidden_size"},
                                is_state_space() ? 0 : 4 * hidden_, Limits::kFeedForward);
    if (sizes_.truth("block_auto_adjust_ff_dim", false)) dense_.size = adjusted_size();
    dense_.is_gated = !family_.is_plain;
    dense_.has_bias = family_.has_ffn_bias || sizes_.truth("mlp_bias", false);
    experts_ = dense_;
    experts_.experts = sizes_.number({"num_experts", "num_local_experts", "n_routed_experts"}, 0, Limits::kExperts);
    if (experts_.experts == 0) return;
    experts_.used =
        std::min(experts_.experts,
                 sizes_.number({"num_experts_per_tok", "num_experts_per_token", "top_k_experts"}, 1, Limits::kExperts));
    experts_.size =
        sizes_.number({"moe_intermediate_size", "expert_intermediate_size"}, dense_.size, Limits::kFeedForward);
    const std::uint64_t shared =
        sizes_.number({"n_shared_experts", "num_shared_experts"}, 0, Limits::kExperts) * experts_.size;
    experts_.shared_size = sizes_.number(
        {"shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"}, shared,
        Limits::kFeedForward);
    if (experts_.shared_size > Limits::kFeedForward) sizes_.refuse("n_shared_experts", "fewer");
    if (family_.shares_like_experts) experts_.shared_size = experts_.size;
    experts_.has_shared_gate = sizes_.has("shared_expert_intermediate_size");
    experts_.has_bias = family_.has_expert_bias;
    if (family_.has_expert_bias || family_.has_choice_bias) experts_.router_extra = experts_.experts;
    dense_layers_ = sizes_.number({"first_k_dense_replace", "num_dense_layers"}, 0, Limits::kLayers);
    every_ = std::max<std::uint64_t>(
        sizes_.number({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq"}, 1, Limits::kLayers), 1);
    mlp_only_ = sizes_.numbers("mlp_only_layers", Limits::kLayers);
  }

  // LFM2 states the size before two thirds of it are taken and rounded up.
  [[nodiscard]] std::uint64_t adjusted_size() {
    const std::uint64_t unit = std::max<std::uint64_t>(sizes_.number({"block_multiple_of"}, 256, 1U << 16), 1);
    return (2 * dense_.size / 3 + unit - 1) / unit * unit;
  }

  [[nodiscard]] bool has_experts(std::size_t index) const {
    return experts_.experts > 0 && index >= dense_layers_ && (index + 1) % every_ == 0 &&
           std::ranges::find(mlp_only_, index) == mlp_only_.end();
  }

  [[nodiscard]] std::uint64_t norm_numbers(const LayerSketch& layer) const {
    std::uint64_t numbers = 0;
    switch (family_.norms) {
      case NormForm::two: numbers = layer.feed_forward.has_value() && !layer.mixers.empty() ? 2 : 1; break;
      case NormForm::four: numbers = 4; break;
      case NormForm::one: numbers = 1; break;
      case NormForm::two_layer: numbers = 4; break;
      case NormForm::one_layer: numbers = 2; break;
    }
    numbers *= hidden_;
    if (!family_.norms_all_heads || layer.mixers.empty()) return numbers;
    const auto* m = std::get_if<AttentionMixer>(&layer.mixers.front());
    return m != nullptr ? numbers + (m->q_heads + m->kv_heads) * m->head_size : numbers;
  }

  LayerSketch make_layer(std::size_t index) {
    LayerSketch layer;
    const LayerUse use = uses_[index];
    if (use == LayerUse::full || use == LayerUse::windowed || use == LayerUse::both) {
      layer.mixers.push_back(attention_or_latent(use == LayerUse::windowed));
      borrow(index, layer.mixers.back());
    }
    if (use == LayerUse::recurrent || use == LayerUse::both) layer.mixers.push_back(recurrent());
    if (use == LayerUse::convolution) {
      layer.mixers.emplace_back(
          ShortConvMixer{.taps = std::max<std::uint64_t>(sizes_.number({"conv_L_cache"}, 3, 64), 1), .width = hidden_});
    }
    const bool has_one_branch = family_.norms == NormForm::one && family_.is_plain;
    const bool has_network = !has_one_branch || use == LayerUse::experts_only || use == LayerUse::network_only;
    const bool with_experts = has_one_branch ? use == LayerUse::experts_only : has_experts(index);
    if (has_network && (with_experts || dense_.size > 0)) layer.feed_forward = with_experts ? experts_ : dense_;
    layer.norm = norm_numbers(layer);
    return layer;
  }

  // The last layers of some networks read what the last layer of their kind before them keeps.
  void borrow(std::size_t index, Mixer& mixer) {
    const std::uint64_t borrowing = sizes_.number({"num_kv_shared_layers"}, 0, Limits::kLayers);
    if (auto* m = std::get_if<AttentionMixer>(&mixer); m != nullptr) m->borrows_kv = index + borrowing >= count_;
  }

  ConfigSizes& sizes_;
  const Family& family_;
  std::uint64_t count_ = 0, hidden_ = 0, window_ = 0;
  std::vector<LayerUse> uses_;
  FeedForwardSketch dense_, experts_;
  std::uint64_t dense_layers_ = 0, every_ = 1;
  std::vector<std::uint64_t> mlp_only_;
};

// The settings of the part that reads and writes text.
Result<ConfigReader> text_part(const ConfigReader& config) {
  for (const std::string_view name : {"text_config", "llm_config"}) {
    PLM_TRY_ASSIGN(auto part, config.section(name));
    if (part.has_value() && part->has("hidden_size")) return std::move(*part);
  }
  return config;
}

// Positions that a table holds, token types, and the norm behind their sum.
void add_embedding_parts(ConfigSizes& sizes, ModelSketch& sketch) {
  if (!sketch.is_encoder || !sizes.has("type_vocab_size")) return;
  const std::uint64_t rows =
      sizes.number({"max_position_embeddings"}, 0, 1U << 20) + sizes.number({"type_vocab_size"}, 0, 1U << 10);
  sketch.looked_up_extra = rows * sketch.hidden;
  sketch.embedding_extra = sketch.looked_up_extra + 2 * sketch.hidden;
}

}  // namespace

Result<ModelSketch> sketch_of_config(const ConfigReader& whole) {
  PLM_TRY_ASSIGN(const ConfigReader config, text_part(whole));
  ConfigSizes sizes(config);
  const std::string family_name = sizes.text("model_type");
  const Family& family = find_family(family_name);
  ModelSketch sketch{.name = sizes.text("_name_or_path").empty() ? whole.path() : sizes.text("_name_or_path"),
                     .family = family_name,
                     .vocabulary = sizes.needed({"vocab_size", "embedding_size"}, Limits::kVocabulary),
                     .is_tied = sizes.truth("tie_word_embeddings", sizes.truth("weight_tying", family.is_tied))};
  sketch.is_causal = !family.reads_whole;
  sketch.is_encoder = family.reads_whole && !family.fills_masks;
  sketch.fills_masks = family.fills_masks;
  sketch.has_head = !sketch.is_encoder;
  sketch.block = sizes.number({"block_size", "block_length"}, 0, Limits::kTokens);
  ConfigLayers layers(sizes, family);
  sketch.hidden = layers.hidden();
  if (!sizes.failure().has_value()) layers.add_to(sketch);
  // A norm, or of encoders that learned to compare sentences what makes one vector of a text.
  const bool has_pooler = sketch.is_encoder && sizes.has("type_vocab_size");
  const bool has_offsets = family.norms == NormForm::one_layer || family.norms == NormForm::two_layer;
  sketch.final = has_pooler ? sketch.hidden * (sketch.hidden + 1) : sketch.hidden * (has_offsets ? 2 : 1);
  add_embedding_parts(sizes, sketch);
  sketch.has_untold_weights = family.has_untold_weights;
  if (sizes.failure().has_value()) return tl::unexpected<Error>(*sizes.failure());
  return sketch;
}

Result<StatedContext> context_of_config(const ConfigReader& whole) {
  PLM_TRY_ASSIGN(const ConfigReader config, text_part(whole));
  constexpr ConfigReader::IntegerRange kRange{1, std::uint64_t{1} << 40};
  StatedContext context;
  PLM_TRY_ASSIGN(context.positional, config.integer_or("max_position_embeddings", 0, {0, kRange.max}));
  if (context.positional == 0) {
    PLM_TRY_ASSIGN(context.positional, config.integer_or("n_positions", 0, {0, kRange.max}));
  }
  if (context.positional == 0) {
    PLM_TRY_ASSIGN(context.positional, config.integer_or("max_sequence_length", 0, {0, kRange.max}));
  }
  context.trained = context.positional;
  PLM_TRY_ASSIGN(const auto scaling, config.section("rope_scaling"));
  if (scaling.has_value()) {
    PLM_TRY_ASSIGN(context.trained,
                   scaling->integer_or("original_max_position_embeddings", context.positional, kRange));
  }
  return context;
}

}  // namespace plm
