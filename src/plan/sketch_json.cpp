#include "plan/sketch_json.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

// One object of the description. The first thing that is wrong is remembered; what is read after that does not count.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::optional<Error>& failure)
      : object_(object), where_(std::move(where)), failure_(failure) {}

  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }

  /// A whole number; a missing one is `otherwise`, or an error where there is none.
  std::uint64_t number(const char* key, std::uint64_t most, std::optional<std::uint64_t> otherwise = {},
                       std::uint64_t least = 0) {
    const Json* value = find(key);
    if (value == nullptr && otherwise.has_value()) return *otherwise;
    if (value != nullptr && value->is_number_unsigned()) {
      const auto found = value->get<std::uint64_t>();
      if (found >= least && found <= most) return found;
    }
    refuse(key, value, fmt::format("a whole number from {} to {}", least, most));
    return std::max<std::uint64_t>(least, 1);
  }
  std::uint64_t size(const char* key, std::uint64_t most) { return number(key, most, {}, 1); }

  bool truth(const char* key, bool otherwise = false) {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    refuse(key, value, "true or false");
    return otherwise;
  }

  std::string text(const char* key, std::optional<std::string> otherwise = {}) {
    const Json* value = find(key);
    if (value == nullptr && otherwise.has_value()) return *otherwise;
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    refuse(key, value, "a text");
    return "";
  }

  /// An object inside this one; an empty one when it is not there or none.
  Fields section(const char* key) {
    static const Json none = Json::object();
    const Json* value = find(key);
    if (value == nullptr || !value->is_object()) refuse(key, value, "an object");
    return Fields(value != nullptr && value->is_object() ? *value : none, name_of(key), failure_);
  }

  /// Objects of a list.
  std::vector<Fields> list(const char* key) {
    constexpr std::size_t kMost = 8;
    const Json* value = find(key);
    std::vector<Fields> fields;
    if (value == nullptr || !value->is_array() || value->empty() || value->size() > kMost) {
      refuse(key, value, fmt::format("a list of 1 to {} objects", kMost));
      return fields;
    }
    for (const Json& item : *value) {
      if (!item.is_object()) refuse(key, &item, "a list of objects");
      if (item.is_object()) fields.emplace_back(item, name_of(key), failure_);
    }
    return fields;
  }

  void refuse(const char* key, const Json* found, std::string_view rule) {
    if (failure_.has_value()) return;
    const std::string is = found == nullptr ? "missing" : printable(json_text(*found), 60);
    failure_ = Error{ErrorKind::bad_input, fmt::format("{} = {}: must be {}", name_of(key), is, rule)};
  }

 private:
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::string name_of(const char* key) const {
    return where_.empty() ? key : fmt::format("{}.{}", where_, key);
  }

  const Json& object_;
  std::string where_;
  std::optional<Error>& failure_;
};

using Limits = SketchLimits;

AttentionMixer read_attention(Fields& f) {
  AttentionMixer m{.q_heads = f.size("nq", Limits::kHeads),
                   .kv_heads = f.size("nkv", Limits::kHeads),
                   .head_size = f.size("hd", Limits::kHeadSize),
                   .value_size = f.number("hd_v", Limits::kHeadSize, 0),
                   .window = f.number("window", Limits::kTokens, 0),
                   .has_gate = f.truth("gate"),
                   .values_are_keys = f.truth("v_from_k"),
                   .has_qkv_bias = f.truth("qkv_bias"),
                   .has_output_bias = f.truth("o_bias"),
                   .has_head_norms = f.truth("qk_norm"),
                   .has_sinks = f.truth("sinks"),
                   .borrows_kv = f.truth("kv_shared")};
  const std::uint64_t widest = std::max(m.q_heads, m.kv_heads) * std::max(m.head_size, m.value_size);
  if (widest > Limits::kColumns)
    f.refuse("hd", nullptr, fmt::format("such that all heads have at most {} numbers", Limits::kColumns));
  return m;
}

LatentMixer read_latent(Fields& f) {
  return {.q_heads = f.size("nq", Limits::kHeads),
          .q_rank = f.number("q_rank", Limits::kHidden, 0),
          .kv_rank = f.size("kv_rank", Limits::kHidden),
          .rope_size = f.number("rope", Limits::kHeadSize),
          .plain_size = f.number("nope", Limits::kHeadSize),
          .value_size = f.size("v", Limits::kHeadSize)};
}

StateSpaceMixer read_state_space(Fields& f) {
  return {.inner_size = f.size("d_inner", Limits::kFeedForward),
          .groups = f.size("groups", Limits::kHeads),
          .state_size = f.size("d_state", Limits::kHeadSize),
          .heads = f.size("heads", Limits::kHeads),
          .taps = f.size("d_conv", 64),
          .has_conv_bias = f.truth("conv_bias", true),
          .has_gated_norm = f.truth("gated_norm", true)};
}

DeltaMixer read_delta(Fields& f) {
  return {.key_heads = f.size("k_heads", Limits::kHeads),
          .key_size = f.size("k_dim", Limits::kHeadSize),
          .value_heads = f.size("v_heads", Limits::kHeads),
          .value_size = f.size("v_dim", Limits::kHeadSize),
          .taps = f.size("d_conv", 64)};
}

// Appends the mixer, or those that stand side by side.
void read_mixer(Fields f, std::vector<Mixer>& mixers, bool is_part = false) {
  const std::string type = f.text("type");
  if (type == "attn") {
    mixers.emplace_back(read_attention(f));
  } else if (type == "mla") {
    mixers.emplace_back(read_latent(f));
  } else if (type == "mamba2") {
    mixers.emplace_back(read_state_space(f));
  } else if (type == "gdn") {
    mixers.emplace_back(read_delta(f));
  } else if (type == "kda") {
    mixers.emplace_back(ChannelDeltaMixer{.heads = f.size("heads", Limits::kHeads),
                                          .head_size = f.size("dim", Limits::kHeadSize),
                                          .taps = f.size("d_conv", 64)});
  } else if (type == "shortconv") {
    mixers.emplace_back(ShortConvMixer{.taps = f.size("l_cache", 64), .width = f.size("width", Limits::kFeedForward)});
  } else if (type == "parallel" && !is_part) {
    for (Fields& part : f.list("parts")) read_mixer(part, mixers, true);
  } else {
    const Json found = type;
    f.refuse("type", &found, "attn, mla, mamba2, gdn, kda, shortconv or parallel");
  }
}

FeedForwardSketch read_feed_forward(Fields f) {
  const std::string type = f.text("type");
  FeedForwardSketch network{
      .size = f.size("ff", Limits::kFeedForward), .is_gated = f.truth("gated", true), .has_bias = f.truth("bias")};
  if (type == "moe") {
    network.experts = f.size("experts", Limits::kExperts);
    network.used = f.number("top_k", network.experts, {}, 1);
    network.router_extra = f.number("router_extra", Limits::kExtraNumbers, 0);
    network.shared_size = f.number("shared_ff", Limits::kFeedForward, 0);
    network.has_shared_gate = f.truth("shared_gate");
    network.dense_size = f.number("dense_ff", Limits::kFeedForward, 0);
  } else if (type != "mlp") {
    const Json found = type;
    f.refuse("type", &found, "mlp or moe");
  }
  return network;
}

LayerSketch read_kind(Fields f) {
  LayerSketch kind{.mixers = {},
                   .feed_forward = {},
                   .norm = f.number("norm", Limits::kExtraNumbers, 0),
                   .extra = f.number("extra", Limits::kExtraNumbers, 0)};
  if (f.has("mix")) read_mixer(f.section("mix"), kind.mixers);
  if (f.has("ffn")) kind.feed_forward = read_feed_forward(f.section("ffn"));
  return kind;
}

void read_layers(Fields& root, ModelSketch& sketch) {
  const std::string letters = root.text("layers");
  if (letters.empty() || letters.size() > Limits::kLayers) {
    root.refuse("layers", nullptr, fmt::format("a text of 1 to {} letters, one for each layer", Limits::kLayers));
    return;
  }
  Fields kinds = root.section("kinds");
  std::string known;
  for (const char letter : letters) {
    std::size_t kind = known.find(letter);
    if (kind == std::string::npos) {
      kind = known.size();
      known += letter;
      const std::array<char, 2> key{letter, '\0'};
      sketch.kinds.push_back(read_kind(kinds.section(key.data())));
    }
    sketch.layers.push_back(static_cast<std::uint32_t>(kind));
  }
}

std::optional<StatedCounts> read_stated(Fields& root) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  if (!root.has("n_total_given")) return std::nullopt;
  StatedCounts stated{.total = root.size("n_total_given", kMost), .of_experts = 0, .experts = 0, .used = 0};
  stated.of_experts = root.number("experts_given", stated.total, 0);
  if (stated.of_experts > 0) {
    Fields moe = root.section("moe");
    stated.experts = moe.size("experts", Limits::kExperts);
    stated.used = moe.number("top_k", stated.experts, {}, 1);
  }
  return stated;
}

}  // namespace

bool is_sketch_json(const Json& object) {
  return object.is_object() && object.contains("kinds") && object.contains("layers");
}

Result<ModelSketch> parse_sketch_json(const Json& object, const std::string& path) {
  if (!object.is_object()) return fail(ErrorKind::bad_input, "{}: is not a JSON object", path);
  std::optional<Error> failure;
  Fields root(object, "", failure);
  ModelSketch sketch{.name = root.text("id", path),
                     .family = root.text("arch", ""),
                     .vocabulary = root.size("vocab", Limits::kVocabulary),
                     .hidden = root.size("d_model", Limits::kHidden),
                     .is_tied = root.truth("tied"),
                     .has_head = !root.truth("no_head"),
                     .embedding_extra = root.number("embed_extra", Limits::kExtraNumbers, 0),
                     .looked_up_extra = root.number("embed_lookup_extra", Limits::kExtraNumbers, 0),
                     .final = root.number("final", Limits::kExtraNumbers, 0),
                     .is_causal = root.truth("causal", true)};
  sketch.is_encoder = !sketch.is_causal && !root.has("diffusion");
  if (root.has("diffusion")) {
    Fields diffusion = root.section("diffusion");
    sketch.fills_masks = true;
    sketch.block = diffusion.number("block", Limits::kTokens, 0);
  }
  read_layers(root, sketch);
  sketch.stated = read_stated(root);
  if (failure.has_value()) return tl::unexpected<Error>(failure->within(path));
  return sketch;
}

}  // namespace plm
