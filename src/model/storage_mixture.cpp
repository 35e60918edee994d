#include "model/storage_mixture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace plm {
namespace {

/// In which layers a rule holds, of `count`.
enum class Where : std::uint8_t {
  everywhere,
  first_two,
  first_sixteenth,
  first_eighth,
  spread,       ///< the first and last eighth, and every third layer between
  shared_keys,  ///< everywhere, in models with four queries or more for each key
};

enum class Part : std::uint8_t { values, attention_output, ffn_down };

struct Promotion {
  Part part;
  Where where;
  std::string_view type;
};

struct MixtureRow {
  std::string_view type;
  std::uint32_t file_type;       ///< in general.file_type
  std::uint32_t pure_file_type;  ///< the same where all matrices have one type
  std::array<Promotion, 5> promotions;
  std::size_t promotion_count;
};

using enum Where;
using enum Part;
constexpr MixtureRow kRows[] = {
    {"f32", 0, 0, {}, 0},
    {"f16", 1, 1, {}, 0},
    {"bf16", 32, 32, {}, 0},
    {"q8_0", 7, 7, {}, 0},
    {"q6_k", 18, 18, {}, 0},
    {"q5_k", 17, 16, {{{values, spread, "q6_k"}, {ffn_down, spread, "q6_k"}}}, 2},
    {"q5_1", 9, 9, {}, 0},
    {"q5_0", 8, 8, {}, 0},
    {"q4_k", 15, 14, {{{values, spread, "q6_k"}, {ffn_down, spread, "q6_k"}}}, 2},
    {"q4_1", 3, 3, {}, 0},
    {"q4_0", 2, 2, {}, 0},
    {"iq4_nl", 25, 25, {{{values, shared_keys, "q5_k"}, {ffn_down, first_eighth, "q5_k"}}}, 2},
    {"iq4_xs", 30, 30, {{{values, shared_keys, "q5_k"}, {ffn_down, first_eighth, "q5_k"}}}, 2},
    {"mxfp4", 38, 38, {}, 0},
    {"q3_k",
     12,
     11,
     {{{values, first_two, "q5_k"},
       {values, everywhere, "q4_k"},
       {ffn_down, first_sixteenth, "q5_k"},
       {ffn_down, everywhere, "q4_k"},
       {attention_output, everywhere, "q4_k"}}},
     5},
    {"q2_k",
     10,
     10,
     {{{values, shared_keys, "q4_k"},
       {values, everywhere, "q3_k"},
       {ffn_down, everywhere, "q3_k"},
       {attention_output, everywhere, "q3_k"}}},
     4},
};

// What takes the place of a type whose blocks of 256 do not fill a row.
constexpr std::pair<std::string_view, std::string_view> kFallbacks[] = {
    {"q2_k", "q4_0"}, {"q3_k", "q4_0"}, {"q4_k", "q5_0"}, {"q5_k", "q5_1"}, {"q6_k", "q8_0"}, {"iq4_xs", "iq4_nl"}};

// Matrices that are small, or of which a small error spoils all: kept as they are.
constexpr std::string_view kKept[] = {"_norm.weight",
                                      "ffn_gate_inp.weight",
                                      "ssm_conv1d",
                                      "shortconv.conv.weight",
                                      "position_embd",
                                      "token_types.weight",
                                      "time_mix_first",
                                      "time_mix_w0",
                                      "time_mix_w1",
                                      "time_mix_w2",
                                      "time_mix_v0",
                                      "time_mix_v1",
                                      "time_mix_v2",
                                      "time_mix_a0",
                                      "time_mix_a1",
                                      "time_mix_a2",
                                      "time_mix_g1",
                                      "time_mix_g2",
                                      "time_mix_decay_w1",
                                      "time_mix_decay_w2",
                                      "time_mix_lerp_fused",
                                      "attn_rel_b.weight",
                                      "per_layer_model_proj",
                                      "altup",
                                      "laurel",
                                      "indexer.k_proj.weight",
                                      "indexer.q_proj.weight"};

const MixtureRow& row_of(const StorageType& type) {
  const auto* row = std::ranges::find(kRows, type.name(), &MixtureRow::type);
  PLM_CHECK(row != std::end(kRows));
  return *row;
}

bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// Whether the tensor is one that quantising may touch.
bool is_open(const TensorEntry& tensor) {
  if (tensor.dims[1] * tensor.dims[2] * tensor.dims[3] == 1 && tensor.rank < 2) return false;
  const bool is_weight = tensor.name.ends_with("weight") || !tensor.name.starts_with("blk.");
  return is_weight && !tensor.name.ends_with(".bias") &&
         std::ranges::none_of(kKept, [&](std::string_view part) { return contains(tensor.name, part); });
}

std::optional<Part> part_of(std::string_view name) {
  for (const std::string_view text : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
    if (contains(name, text)) return values;
  }
  if (contains(name, "attn_output.weight")) return attention_output;
  if (contains(name, "ffn_down")) return ffn_down;
  return std::nullopt;
}

std::optional<std::uint64_t> layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  std::uint64_t layer = 0;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto [end, code] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return code == std::errc() ? std::optional(layer) : std::nullopt;
}

}  // namespace

std::string mixture_names() {
  std::string names;
  for (const MixtureRow& row : kRows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.type);
  return names;
}

const StorageType* find_mixture(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower.ends_with("_k_m")) lower.resize(lower.size() - 2);
  const bool is_known = std::ranges::find(kRows, lower, &MixtureRow::type) != std::end(kRows);
  return is_known ? find_storage_type(std::string_view(lower)) : nullptr;
}

StorageMixture::StorageMixture(const GgufFile& file, const StorageType& type, bool pure)
    : type_(type), pure_(pure), is_tied_(file.find_tensor("output.weight") == nullptr) {
  for (const TensorEntry& tensor : file.tensors()) {
    if (const auto layer = layer_of(tensor.name)) layers_ = std::max(layers_, *layer + 1);
  }
  const auto count = [&](std::string_view key) -> std::uint64_t {
    const MetaValue* family = file.find("general.architecture");
    const auto name = family != nullptr ? family->as_string() : std::nullopt;
    const MetaValue* value = name ? file.find(fmt::format("{}.{}", *name, key)) : nullptr;
    return value != nullptr ? value->as_unsigned().value_or(0) : 0;
  };
  const std::uint64_t queries = count("attention.head_count"), keys = count("attention.head_count_kv");
  shares_keys_ = keys > 0 && queries / keys >= 4;
}

std::uint32_t StorageMixture::file_type() const {
  return pure_ ? row_of(type_).pure_file_type : row_of(type_).file_type;
}

// Before the length of the row is looked at. The head decides every token, so it gets more than the rest.
const StorageType* StorageMixture::wanted(std::string_view name, std::uint64_t row) const {
  if (pure_ || type_.block_size == 1 || type_.name() == "q8_0") return &type_;
  if (name == "output.weight" || (is_tied_ && name == "token_embd.weight")) {
    const bool is_q6 = row % type_.block_size == 0 && type_.name() != "mxfp4";
    return find_storage_type(std::string_view(is_q6 ? "q6_k" : "q8_0"));
  }
  const MixtureRow& mixture = row_of(type_);
  const auto part = part_of(name);
  const std::uint64_t layer = layer_of(name).value_or(0);
  const auto holds = [&](Where where) {
    switch (where) {
      case everywhere: return true;
      case first_two: return layer < 2;
      case first_sixteenth: return layer < layers_ / 16;
      case first_eighth: return layer < layers_ / 8;
      case spread: return layer < layers_ / 8 || layer >= 7 * layers_ / 8 || (layer - layers_ / 8) % 3 == 2;
      case shared_keys: return shares_keys_;
    }
    return false;
  };
  for (const Promotion& rule : std::span(mixture.promotions).first(mixture.promotion_count)) {
    if (part == rule.part && holds(rule.where)) return find_storage_type(rule.type);
  }
  return &type_;
}

const GgmlType& StorageMixture::type_of(const TensorEntry& tensor) const {
  if (!is_open(tensor)) return *tensor.type;
  const std::uint64_t row = tensor.dims[0];
  const StorageType* type = wanted(tensor.name, row);
  if (row % type->block_size != 0) {
    const auto* fallback =
        std::ranges::find(kFallbacks, type->name(), &std::pair<std::string_view, std::string_view>::first);
    if (fallback != std::end(kFallbacks)) type = find_storage_type(fallback->second);
  }
  if (row % type->block_size != 0) type = &quant_f16;
  return *find_ggml_type(type->ggml_id);
}

}  // namespace plm
