#include "model/folder_tensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>

#include "base/half.h"
#include "base/utf8.h"
#include "model/mapped_rows.h"

namespace plm {
namespace {

constexpr std::string_view kLayer = "{}";
constexpr std::uint64_t kMostLayers = 1U << 16;
constexpr std::size_t kNoLayer = 0;
// Buffers that old versions saved; they are computed here.
constexpr std::string_view kComputed[] = {".rotary_emb.inv_freq", ".attn.masked_bias", ".attention.masked_bias"};

/// A tensor's rule and layer.
struct Match {
  std::size_t rule = 0;
  std::optional<std::uint64_t> layer;
};

// Whether `name` is `pattern` with a number for "{}".
std::optional<Match> match_name(std::string_view name, std::string_view pattern, std::size_t rule) {
  const std::size_t hole = pattern.find(kLayer);
  if (hole == std::string_view::npos) return name == pattern ? std::optional(Match{rule, {}}) : std::nullopt;
  const std::string_view tail = pattern.substr(hole + kLayer.size());
  if (name.size() < hole + tail.size() || !name.starts_with(pattern.substr(0, hole)) || !name.ends_with(tail)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(hole, name.size() - hole - tail.size());
  std::uint64_t layer = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
  const bool is_number = code == std::errc() && end == digits.data() + digits.size();
  const bool is_plain = digits.size() == 1 || !digits.starts_with('0');
  return is_number && is_plain && layer < kMostLayers ? std::optional(Match{rule, layer}) : std::nullopt;
}

std::optional<Match> find_rule(std::string_view name, std::span<const TensorRule> rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (auto match = match_name(name, rules[i].from, i)) return match;
  }
  return std::nullopt;
}

std::string with_layer(std::string_view pattern, std::optional<std::uint64_t> layer) {
  std::string name(pattern);
  if (layer) name.replace(name.find(kLayer), kLayer.size(), fmt::format("{}", *layer));
  return name;
}

const GgmlType* ggml_type_of(SafetensorsDtype dtype) {
  switch (dtype) {
    case SafetensorsDtype::f32: return find_ggml_type("F32");
    case SafetensorsDtype::f16: return find_ggml_type("F16");
    case SafetensorsDtype::bf16: return find_ggml_type("BF16");
    default: return nullptr;
  }
}

/// Makes a tensor from the rows of another: brought from halves to pairs within each head, made float32, or both.
class RowMaker {
 public:
  RowMaker(std::shared_ptr<const HuggingFaceFolder> folder, const FolderTensor& tensor, std::size_t rows,
           std::size_t heads, bool to_float)
      : folder_(std::move(folder)), tensor_(tensor), rows_(rows), heads_(heads), to_float_(to_float) {}

  void operator()(std::span<std::byte> out) const {
    const std::span<const std::byte> in = tensor_.entry->bytes;
    const std::size_t in_bytes = in.size() / rows_, out_bytes = out.size() / rows_;
    for (std::size_t row = 0; row < rows_; ++row) {
      const auto source = in.subspan(source_row(row) * in_bytes, in_bytes);
      put(source, out.subspan(row * out_bytes, out_bytes));
    }
    if (const auto& map = folder_->shards()[tensor_.shard]->mapped()) map->release(in);
  }

 private:
  // Row 2i + h of a head comes from row i of its half h.
  [[nodiscard]] std::size_t source_row(std::size_t row) const {
    if (heads_ == 0) return row;
    const std::size_t size = rows_ / heads_, head = row / size, within = row % size;
    return head * size + within % 2 * (size / 2) + within / 2;
  }

  void put(std::span<const std::byte> from, std::span<std::byte> to) const {
    if (!to_float_) {
      std::memcpy(to.data(), from.data(), to.size());
      return;
    }
    for (std::size_t i = 0; i < to.size() / sizeof(float); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
      const float value = tensor_.entry->dtype == SafetensorsDtype::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
      std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
    }
  }

  std::shared_ptr<const HuggingFaceFolder> folder_;
  FolderTensor tensor_;
  std::size_t rows_;
  std::size_t heads_;  // 0: rows stay in their order
  bool to_float_;
};

class Planner {
 public:
  Planner(const std::shared_ptr<const HuggingFaceFolder>& folder, const HuggingFaceForm& form)
      : folder_(folder), form_(form) {}

  Result<FolderTensorPlan> plan(const FolderTensor& tensor, const Match& match) const;

 private:
  template <typename... Args>
  tl::unexpected<Error> refuse(const FolderTensor& tensor, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: tensor {}: {}", folder_->shards()[tensor.shard]->path(),
                printable(tensor.name, 120), fmt::format(format, std::forward<Args>(args)...));
  }
  Result<std::size_t> heads_of(const FolderTensor& tensor, const TensorRule& rule) const;

  const std::shared_ptr<const HuggingFaceFolder>& folder_;
  const HuggingFaceForm& form_;
};

// How many heads the rows are to be sorted in; 0: not at all.
Result<std::size_t> Planner::heads_of(const FolderTensor& tensor, const TensorRule& rule) const {
  if (rule.heads.empty()) return 0;
  const ConfigReader& config = *folder_->config();
  // A model without grouped queries may leave the number of its key heads out.
  const std::string_view setting = config.has(rule.heads) ? rule.heads : "num_attention_heads";
  PLM_TRY_ASSIGN(const std::uint64_t heads, config.integer(setting, {1, 1U << 20}));
  const std::uint64_t rows = tensor.entry->shape.front();
  if (rows % (2 * heads) == 0) return static_cast<std::size_t>(heads);
  return refuse(tensor, "has {} rows, expected an even number for each of {} = {} heads", rows, setting, heads);
}

Result<FolderTensorPlan> Planner::plan(const FolderTensor& tensor, const Match& match) const {
  const TensorRule& rule = form_.tensors[match.rule];
  const std::vector<std::uint64_t>& shape = tensor.entry->shape;
  const GgmlType* type = ggml_type_of(tensor.entry->dtype);
  if (type == nullptr) {
    return refuse(tensor, "is of type {}, expected F32, F16 or BF16; quantised checkpoints are not read",
                  safetensors_dtype_name(tensor.entry->dtype));
  }
  if (shape.empty() || shape.size() > 4 || tensor.entry->bytes.empty()) {
    return refuse(tensor, "shape [{}], expected one to four dimensions above 0", fmt::join(shape, ", "));
  }
  if (has_changes(rule)) return plan_mapped_rows(folder_, tensor, rule, with_layer(rule.to, match.layer));
  FolderTensorPlan plan{.name = with_layer(rule.to, match.layer), .dims = {shape.rbegin(), shape.rend()}};
  PLM_TRY_ASSIGN(const std::size_t heads, heads_of(tensor, rule));
  const bool is_vector = shape.size() == 1;  // norms and biases are float32 everywhere
  const bool to_float = is_vector && type->name != "F32";
  plan.type = to_float ? find_ggml_type("F32") : type;
  if (heads > 0 || to_float) {
    const auto rows = static_cast<std::size_t>(shape.front());
    plan.source.make = std::make_shared<const TensorMaker>(RowMaker(folder_, tensor, rows, heads, to_float));
  } else {
    plan.source.bytes = tensor.entry->bytes;
    plan.source.file = tensor.shard;
  }
  return plan;
}

}  // namespace

Result<std::vector<FolderTensorPlan>> plan_folder_tensors(const std::shared_ptr<const HuggingFaceFolder>& folder,
                                                          const HuggingFaceForm& form,
                                                          std::vector<std::string>& warnings) {
  PLM_TRY_ASSIGN(const bool is_tied, folder->config()->boolean_or("tie_word_embeddings", form.tied_by_default));
  std::vector<std::pair<Match, const FolderTensor*>> matches;
  std::vector<std::string_view> unknown;
  for (const FolderTensor& tensor : folder->tensors()) {
    if (is_tied && tensor.name == form.head) continue;
    if (const auto match = find_rule(tensor.name, form.tensors)) {
      // Rules that follow may take other rows of the same tensor.
      for (std::size_t rule = match->rule; rule < form.tensors.size(); ++rule) {
        if (form.tensors[rule].from == form.tensors[match->rule].from)
          matches.push_back({{rule, match->layer}, &tensor});
      }
    } else if (std::ranges::none_of(kComputed, [&](auto end) { return tensor.name.ends_with(end); })) {
      unknown.push_back(tensor.name);
    }
  }
  if (!is_tied && !form.head.empty() && !folder->tensors().empty() && folder->find_tensor(form.head) == nullptr) {
    return fail(ErrorKind::bad_input,
                "{}: tensor {}: missing, though tie_word_embeddings is not true; the checkpoint is incomplete",
                folder->path(), form.head);
  }
  if (!unknown.empty()) {
    const std::string more = unknown.size() > 1 ? fmt::format(" and {} more", unknown.size() - 1) : "";
    warnings.push_back(fmt::format("{}: tensor {}{}: not used by this architecture; ignored", folder->path(),
                                   printable(unknown.front(), 80), more));
  }
  // As the rules stand: first what has no layer and stands before the layers, then layer after layer, then the rest.
  const auto first_layered = std::ranges::find_if(
      form.tensors, [](const TensorRule& rule) { return rule.from.find(kLayer) != std::string_view::npos; });
  const auto layers_begin = static_cast<std::size_t>(first_layered - form.tensors.begin());
  const auto place = [&](const auto& matched) {
    const Match& match = matched.first;
    const std::uint64_t outside = match.rule < layers_begin ? kNoLayer : kMostLayers + 1;
    return std::tuple(match.layer ? *match.layer + 1 : outside, match.rule);
  };
  std::ranges::sort(matches, {}, place);
  std::vector<FolderTensorPlan> plans;
  for (const auto& [match, tensor] : matches) {
    PLM_TRY_ASSIGN(FolderTensorPlan plan, Planner(folder, form).plan(*tensor, match));
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace plm
