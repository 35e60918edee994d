#include "plan/gguf_sketch.h"

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "plan/families.h"

namespace plm {
namespace {

using Limits = SketchLimits;

std::string layer_name(std::size_t layer, std::string_view rest) { return fmt::format("blk.{}.{}", layer, rest); }

// The layers of one file.
class LayerReader {
 public:
  LayerReader(const GgufFile& file, const SizeKeys& keys, std::uint64_t hidden)
      : file_(file), keys_(keys), hidden_(hidden), family_(find_family(keys.family())) {
    window_ = keys.number("attention.sliding_window", family_.window_every > 0 ? family_.window : 0);
    if (window_ == 0) window_ = keys.number("attention.chunk_size");
    if (family_.opens_wide && window_ > 0) ++window_;  // stated without the row's own position
  }

  [[nodiscard]] LayerSketch read(std::size_t layer) const {
    LayerSketch sketch;
    const bool is_recurrent = has(layer, "ssm_conv1d.weight");
    if (has(layer, "attn_kv_a_mqa.weight")) {
      sketch.mixers.emplace_back(latent());
    } else if (has(layer, "attn_output.weight")) {
      sketch.mixers.emplace_back(attention(layer));
    }
    if (is_recurrent && has(layer, "ssm_in.weight")) sketch.mixers.emplace_back(state_space());
    if (is_recurrent && !has(layer, "ssm_in.weight")) sketch.mixers.emplace_back(delta());
    if (has(layer, "shortconv.conv.weight")) {
      sketch.mixers.emplace_back(ShortConvMixer{.taps = keys_.number("shortconv.l_cache", 1), .width = hidden_});
    }
    sketch.feed_forward = feed_forward(layer);
    return sketch;
  }

 private:
  [[nodiscard]] const TensorEntry* find(std::size_t layer, std::string_view rest) const {
    return file_.find_tensor(layer_name(layer, rest));
  }
  [[nodiscard]] bool has(std::size_t layer, std::string_view rest) const { return find(layer, rest) != nullptr; }
  // Rows of a matrix; 0 where there is none.
  [[nodiscard]] std::uint64_t rows(std::size_t layer, std::string_view rest) const {
    const TensorEntry* tensor = find(layer, rest);
    return tensor != nullptr ? tensor->dims[1] : 0;
  }

  [[nodiscard]] bool is_windowed(std::size_t layer) const {
    if (window_ == 0) return false;
    const MetaValue* pattern = keys_.find("attention.sliding_window_pattern");
    const bool is_list = pattern != nullptr && pattern->is_array();
    if (is_list) return keys_.of_layer("attention.sliding_window_pattern", layer) != 0;
    const std::uint64_t every = keys_.number("attention.sliding_window_pattern", family_.window_every);
    if (every == 0) return true;
    return family_.opens_wide ? layer % every != 0 : layer % every != every - 1;
  }

  [[nodiscard]] AttentionMixer attention(std::size_t layer) const {
    AttentionMixer m{.window = is_windowed(layer) ? window_ : 0};
    const std::uint64_t stated = keys_.of_layer("attention.head_count", layer, 1);
    const bool is_narrow = m.window > 0 && keys_.has("attention.key_length_swa");
    m.head_size = keys_.number(is_narrow ? "attention.key_length_swa" : "attention.key_length",
                               hidden_ / std::max<std::uint64_t>(stated, 1));
    m.value_size = keys_.number(is_narrow ? "attention.value_length_swa" : "attention.value_length", m.head_size);
    m.head_size = std::max<std::uint64_t>(m.head_size, 1);
    m.value_size = std::max<std::uint64_t>(m.value_size, 1);
    m.q_heads = find(layer, "attn_output.weight")->dims[0] / m.value_size;
    if (const std::uint64_t fused = rows(layer, "attn_qkv.weight"); fused > 0) {
      const std::uint64_t queries = m.q_heads * m.head_size;
      m.kv_heads = fused > queries ? (fused - queries) / (m.head_size + m.value_size) : 0;
    } else {
      m.kv_heads = rows(layer, "attn_k.weight") / m.head_size;
      m.has_gate = rows(layer, "attn_q.weight") == 2 * m.q_heads * m.head_size;
    }
    const std::uint64_t borrowing = keys_.number("attention.shared_kv_layers");
    m.borrows_kv = m.kv_heads == 0 || layer + borrowing >= keys_.number("block_count");
    m.has_head_norms = has(layer, "attn_q_norm.weight");
    m.has_sinks = has(layer, "attn_sinks.weight");
    m.has_qkv_bias = has(layer, "attn_q.bias") || has(layer, "attn_qkv.bias");
    return m;
  }

  [[nodiscard]] LatentMixer latent() const {
    LatentMixer m{.q_heads = keys_.number("attention.head_count"),
                  .q_rank = keys_.number("attention.q_lora_rank"),
                  .kv_rank = keys_.number("attention.kv_lora_rank"),
                  .rope_size = keys_.number("rope.dimension_count"),
                  .plain_size = 0,
                  .value_size = keys_.number("attention.value_length_mla", keys_.number("attention.value_length"))};
    const std::uint64_t head = keys_.number("attention.key_length_mla", keys_.number("attention.key_length"));
    m.plain_size = head > m.rope_size ? head - m.rope_size : 0;
    return m;
  }

  [[nodiscard]] StateSpaceMixer state_space() const {
    return {.inner_size = keys_.number("ssm.inner_size"),
            .groups = keys_.number("ssm.group_count"),
            .state_size = keys_.number("ssm.state_size"),
            .heads = keys_.number("ssm.time_step_rank"),
            .taps = keys_.number("ssm.conv_kernel", 1)};
  }

  [[nodiscard]] DeltaMixer delta() const {
    const std::uint64_t heads = std::max<std::uint64_t>(keys_.number("ssm.time_step_rank"), 1);
    return {.key_heads = keys_.number("ssm.group_count"),
            .key_size = keys_.number("ssm.state_size"),
            .value_heads = heads,
            .value_size = keys_.number("ssm.inner_size") / heads,
            .taps = keys_.number("ssm.conv_kernel", 1)};
  }

  [[nodiscard]] std::optional<FeedForwardSketch> feed_forward(std::size_t layer) const {
    FeedForwardSketch network;
    const std::uint64_t experts = keys_.number("expert_count");
    const bool has_experts = has(layer, "ffn_gate_inp.weight");
    if (has_experts && experts > 0) {
      network.experts = experts;
      network.used = std::min(experts, keys_.number("expert_used_count", 1));
      network.size = expert_size(layer);
      network.shared_size = rows(layer, "ffn_up_shexp.weight");
      network.has_shared_gate = has(layer, "ffn_gate_inp_shexp.weight");
      return network;
    }
    if (const TensorEntry* down = find(layer, "ffn_down.weight"); down != nullptr) {
      network.size = down->dims[0];
      network.is_gated = has(layer, "ffn_gate.weight") || rows(layer, "ffn_up.weight") == 2 * network.size;
      return network;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint64_t expert_size(std::size_t layer) const {
    for (const std::string_view name : {"ffn_down_exps.weight", "ffn_down.0.weight"}) {
      if (const TensorEntry* down = find(layer, name); down != nullptr) return down->dims[0];
    }
    return keys_.number("expert_feed_forward_length");
  }

  const GgufFile& file_;
  const SizeKeys& keys_;
  std::uint64_t hidden_;
  const Family& family_;
  std::uint64_t window_ = 0;
};

// Whether the sizes that a stranger's file states keep every product within 64 bits.
struct WithinLimits {
  bool operator()(const AttentionMixer& m) const {
    return m.q_heads <= Limits::kHeads && m.kv_heads <= Limits::kHeads && m.head_size <= Limits::kHeadSize &&
           m.value_size <= Limits::kHeadSize && m.window <= Limits::kTokens &&
           std::max(m.q_heads, m.kv_heads) * std::max(m.head_size, m.value_size) <= Limits::kColumns;
  }
  bool operator()(const LatentMixer& m) const {
    return m.q_heads <= Limits::kHeads && m.q_rank <= Limits::kHidden && m.kv_rank <= Limits::kHidden &&
           m.rope_size <= Limits::kHeadSize && m.plain_size <= Limits::kHeadSize && m.value_size <= Limits::kHeadSize;
  }
  bool operator()(const StateSpaceMixer& m) const {
    return m.inner_size <= Limits::kFeedForward && m.groups <= Limits::kHeads && m.state_size <= Limits::kHeadSize &&
           m.heads <= Limits::kHeads && m.taps >= 1 && m.taps <= 64;
  }
  bool operator()(const DeltaMixer& m) const {
    return m.key_heads <= Limits::kHeads && m.key_size <= Limits::kHeadSize && m.value_heads <= Limits::kHeads &&
           m.value_size <= Limits::kFeedForward && m.taps >= 1 && m.taps <= 64;
  }
  bool operator()(const ChannelDeltaMixer&) const { return true; }
  bool operator()(const ShortConvMixer& m) const { return m.taps >= 1 && m.taps <= 64; }
};

bool is_within_limits(const LayerSketch& layer) {
  for (const Mixer& mixer : layer.mixers) {
    if (!std::visit(WithinLimits{}, mixer)) return false;
  }
  if (!layer.feed_forward.has_value()) return true;
  const FeedForwardSketch& network = *layer.feed_forward;
  return network.size <= Limits::kFeedForward && network.experts <= Limits::kExperts &&
         network.shared_size <= Limits::kFeedForward;
}

// Layers that are alike are of one kind.
bool are_alike(const LayerSketch& a, const LayerSketch& b) {
  if (a.mixers.size() != b.mixers.size() || a.feed_forward.has_value() != b.feed_forward.has_value()) return false;
  for (std::size_t i = 0; i < a.mixers.size(); ++i) {
    if (a.mixers[i] != b.mixers[i]) return false;
  }
  return a.feed_forward == b.feed_forward;
}

bool is_of_experts(std::string_view name) {
  if (name.find("_exps.") != std::string_view::npos) return true;
  for (const std::string_view part : {".ffn_gate.", ".ffn_up.", ".ffn_down."}) {
    const std::size_t at = name.find(part);
    if (at == std::string_view::npos || at + part.size() >= name.size()) continue;
    const char next = name[at + part.size()];
    if (next >= '0' && next <= '9') return true;  // old files have a tensor for each
  }
  return false;
}

constexpr std::string_view kTable = "token_embd.weight", kHead = "output.weight";

bool is_looked_up(std::string_view name) {
  return name == "position_embd.weight" || name == "token_types.weight" || name == "per_layer_token_embd.weight";
}

}  // namespace

SizeKeys::SizeKeys(const GgufFile& file) : file_(file) {
  const auto family = file.optional_string("general.architecture");
  if (family.has_value() && family->has_value()) family_ = std::string(**family);
}

const MetaValue* SizeKeys::find(std::string_view name) const { return file_.find(fmt::format("{}.{}", family_, name)); }

std::uint64_t SizeKeys::number(std::string_view name, std::uint64_t otherwise) const {
  return of_layer(name, 0, otherwise);
}

std::uint64_t SizeKeys::of_layer(std::string_view name, std::size_t layer, std::uint64_t otherwise) const {
  const MetaValue* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_array()) {
    if (layer >= value->count() || value->count() > Limits::kLayers) return otherwise;
    if (value->element_type() == GgufType::boolean) return value->bytes()[layer] != std::byte{0} ? 1 : 0;
    const auto list = value->as_integers();
    if (!list.has_value()) return otherwise;
    const auto at = (*list)[layer];
    return at < 0 ? 0 : static_cast<std::uint64_t>(at);
  }
  return value->as_unsigned().value_or(otherwise);
}

Result<ModelSketch> sketch_of(const GgufFile& file) {
  const SizeKeys keys(file);
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorKind::bad_input, "{}: {}; it is no model that can be planned for", file.path(), what);
  };
  const std::uint64_t layers = keys.number("block_count"), hidden = keys.number("embedding_length");
  if (keys.family().empty()) return refuse("general.architecture is missing");
  if (layers == 0 || layers > Limits::kLayers) return refuse(fmt::format("{} layers", layers));
  if (hidden == 0 || hidden > Limits::kHidden) return refuse(fmt::format("hidden states of {} numbers", hidden));
  const TensorEntry* table = file.find_tensor(kTable);
  if (table == nullptr) return refuse("token_embd.weight is missing");
  const Family& family = find_family(keys.family());
  const auto name = file.optional_string("general.name");
  ModelSketch sketch{.name = name.has_value() && name->has_value() ? std::string(**name) : file.path(),
                     .family = keys.family(),
                     .vocabulary = table->dims[1],
                     .hidden = hidden,
                     .is_tied = file.find_tensor(kHead) == nullptr};
  if (sketch.vocabulary > Limits::kVocabulary) return refuse(fmt::format("{} tokens", sketch.vocabulary));
  sketch.is_causal = !family.reads_whole;
  sketch.is_encoder = family.reads_whole && !family.fills_masks;
  sketch.fills_masks = family.fills_masks || file.find_tensor("output_transform.weight") != nullptr;
  const bool gives_scores =
      file.find_tensor("cls.weight") != nullptr || file.find_tensor("cls.output.weight") != nullptr;
  sketch.has_head = sketch.is_encoder ? sketch.fills_masks : !(sketch.is_tied && gives_scores);
  sketch.block = keys.number("block_length");
  const LayerReader reader(file, keys, hidden);
  for (std::size_t index = 0; index < layers; ++index) {
    LayerSketch layer = reader.read(index);
    if (!is_within_limits(layer)) return refuse(fmt::format("layer {} has sizes that no network has", index));
    auto kind = std::ranges::find_if(sketch.kinds, [&](const LayerSketch& known) { return are_alike(known, layer); });
    if (kind == sketch.kinds.end()) kind = sketch.kinds.insert(kind, std::move(layer));
    sketch.layers.push_back(static_cast<std::uint32_t>(kind - sketch.kinds.begin()));
  }
  return sketch;
}

CountedParameters count_tensors(const GgufFile& file) {
  const SizeKeys keys(file);
  std::uint64_t stored = 0, of_experts = 0, looked_up = 0;
  for (const TensorEntry& tensor : file.tensors()) {
    stored += tensor.element_count();
    if (is_of_experts(tensor.name)) of_experts += tensor.element_count();
    if (is_looked_up(tensor.name)) looked_up += tensor.element_count();
  }
  const auto numbers = [&](std::string_view name) {
    const TensorEntry* tensor = file.find_tensor(name);
    return tensor != nullptr ? tensor->element_count() : 0;
  };
  const std::uint64_t experts = keys.number("expert_count"), used = keys.number("expert_used_count");
  std::uint64_t active = stored;
  if (experts > 0 && used > 0 && used <= experts) active -= of_experts / experts * (experts - used);
  const std::uint64_t table = numbers(kTable), head = numbers(kHead);
  const Family& family = find_family(keys.family());
  const bool is_multiplied = head == 0 && (!family.reads_whole || family.fills_masks ||
                                           file.find_tensor("output_transform.weight") != nullptr);
  return {.stored = stored,
          .active = active,
          .multiplied = active - looked_up - (is_multiplied ? 0 : table),
          .without_embeddings = stored - table - head};
}

std::vector<TypeShare> type_shares(const GgufFile& file) {
  std::map<std::string_view, TypeShare> by_type;
  for (const TensorEntry& tensor : file.tensors()) {
    TypeShare& share = by_type[tensor.type->name];
    share.type = tensor.type->name;
    ++share.tensors;
    share.parameters += tensor.element_count();
    share.bytes += tensor.byte_count();
  }
  std::vector<TypeShare> shares;
  for (const auto& [name, share] : by_type) shares.push_back(share);
  std::ranges::sort(shares, [](const TypeShare& a, const TypeShare& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.type < b.type;
  });
  return shares;
}

}  // namespace plm
