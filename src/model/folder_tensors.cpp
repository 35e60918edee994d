#include "model/folder_tensors.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "base/utf8.h"
#include "model/mapped_rows.h"
#include "model/plain_numbers.h"
#include "model/tensor_makers.h"

namespace plm {
namespace {

constexpr std::string_view kLayer = "{}";
constexpr std::uint64_t kMostLayers = 1U << 16;
constexpr std::size_t kNoLayer = 0;
constexpr std::string_view kScoreHead = "cls.";
// Buffers that old versions saved; they are computed here.
constexpr std::string_view kComputed[] = {".rotary_emb.inv_freq", ".attn.masked_bias", ".attention.masked_bias",
                                          ".position_ids", ".token_type_ids"};

/// A tensor's rule, layer and expert.
struct Match {
  std::size_t rule = 0;
  std::optional<std::uint64_t> layer = {};
  std::optional<std::uint64_t> expert = {};
};

// Takes a number off the front of `text`; numbers are written without leading zeros.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (code != std::errc() || (digits > 1 && text.front() == '0') || number >= kMostLayers) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// Whether `name` is `pattern` with numbers for "{}".
std::optional<Match> match_name(std::string_view name, std::string_view pattern, std::size_t rule) {
  Match match{.rule = rule};
  for (std::optional<std::uint64_t>* number : {&match.layer, &match.expert}) {
    const std::size_t hole = pattern.find(kLayer);
    if (hole == std::string_view::npos) break;
    if (name.substr(0, hole) != pattern.substr(0, hole)) return std::nullopt;
    name.remove_prefix(hole);
    pattern.remove_prefix(hole + kLayer.size());
    *number = take_number(name);
    if (!number->has_value()) return std::nullopt;
  }
  return name == pattern ? std::optional(match) : std::nullopt;
}

// Rules are numbered through both lists.
std::size_t rule_count(const HuggingFaceForm& form) { return form.tensors.size() + form.shared.size(); }
const TensorRule& rule_at(const HuggingFaceForm& form, std::size_t index) {
  return index < form.tensors.size() ? form.tensors[index] : form.shared[index - form.tensors.size()];
}

// A tensor that is cut up has a rule for each part.
std::vector<Match> find_rules(std::string_view name, const HuggingFaceForm& form) {
  std::vector<Match> found;
  // What a family says of a tensor itself stands in the place of what it shares.
  const auto look = [&](std::string_view without_prefix) {
    for (std::size_t i = 0; i < rule_count(form); ++i) {
      if (i == form.tensors.size() && !found.empty()) return;
      if (auto match = match_name(without_prefix, rule_at(form, i).from, i)) found.push_back(*match);
    }
  };
  look(name);
  for (const std::string_view prefix : form.prefixes) {
    if (found.empty() && name.starts_with(prefix)) look(name.substr(prefix.size()));
  }
  return found;
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

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";

// The scales that belong to a tensor of codes, or null; or the codes to scales.
const FolderTensor* find_partner(const HuggingFaceFolder& folder, std::string_view name, std::string_view ending,
                                 std::string_view other) {
  if (!name.ends_with(ending)) return nullptr;
  return folder.find_tensor(std::string(name.substr(0, name.size() - ending.size())) + std::string(other));
}

// Whether the last number of a cut lies in a tensor of this shape.
bool fits(const TensorCut& cut, std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : shape) count *= dim;
  const std::uint64_t steps[] = {cut.step, cut.row_step, cut.matrix_step};
  std::uint64_t last = cut.first, taken = 1;
  for (std::size_t i = 0; i < cut.dims.size(); ++i) {
    if (cut.dims[i] == 0 || cut.dims[i] > count / taken || steps[i] > count) return false;
    taken *= cut.dims[i];
    last += (cut.dims[i] - 1) * steps[i];
  }
  return last < count;
}

class Planner {
 public:
  Planner(const std::shared_ptr<const HuggingFaceFolder>& folder, const HuggingFaceForm& form,
          const CheckpointDraft& draft)
      : folder_(folder), form_(form), draft_(draft) {}

  Result<FolderTensorPlan> plan(const FolderTensor& tensor, const Match& match) const;
  /// The tensors of experts 0, 1, ... of one rule and layer as one.
  Result<FolderTensorPlan> plan_stack(std::span<const std::pair<Match, const FolderTensor*>> experts) const;

 private:
  template <typename... Args>
  tl::unexpected<Error> refuse(const FolderTensor& tensor, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: tensor {}: {}", folder_->shards()[tensor.shard]->path(),
                printable(tensor.name, 120), fmt::format(format, std::forward<Args>(args)...));
  }
  Result<FolderTensorPlan> plan_mxfp4(const FolderTensor& tensor, const Match& match) const;
  Result<std::size_t> heads_of(const FolderTensor& tensor, const TensorRule& rule) const;
  Result<std::size_t> skipped_of(const FolderTensor& tensor, std::string_view name) const;

  const std::shared_ptr<const HuggingFaceFolder>& folder_;
  const HuggingFaceForm& form_;
  const CheckpointDraft& draft_;
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

// How many rows are left out; a matrix must have more.
Result<std::size_t> Planner::skipped_of(const FolderTensor& tensor, std::string_view name) const {
  const auto found = draft_.skipped_rows.find(name);
  if (found == draft_.skipped_rows.end()) return 0;
  const std::vector<std::uint64_t>& shape = tensor.entry->shape;
  if (shape.size() == 2 && shape.front() > found->second) return found->second;
  return refuse(tensor, "shape [{}], expected a matrix of more than {} rows, the first of which are for padding",
                fmt::join(shape, ", "), found->second);
}

Result<FolderTensorPlan> Planner::plan(const FolderTensor& tensor, const Match& match) const {
  const TensorRule& rule = rule_at(form_, match.rule);
  if (rule.is_mxfp4) return plan_mxfp4(tensor, match);
  const std::vector<std::uint64_t>& shape = tensor.entry->shape;
  const GgmlType* type = ggml_type_of(plain_dtype(tensor));
  if (type == nullptr) {
    return refuse(tensor, "is of type {}, expected F32, F16, BF16 or F8_E4M3; other quantised checkpoints are not read",
                  safetensors_dtype_name(tensor.entry->dtype));
  }
  if (shape.empty() || shape.size() > 4 || tensor.entry->bytes.empty()) {
    return refuse(tensor, "shape [{}], expected one to four dimensions above 0", fmt::join(shape, ", "));
  }
  PLM_TRY(check_plain_numbers(*folder_, tensor));
  const bool is_plain = plain_dtype(tensor) == tensor.entry->dtype;
  if (has_changes(rule) && !is_plain) return refuse(tensor, "is of type F8_E4M3, which is not read here");
  if (has_changes(rule)) return plan_mapped_rows(folder_, tensor, rule, with_layer(rule.to, match.layer));
  FolderTensorPlan plan{.name = with_layer(rule.to, match.layer), .dims = {shape.rbegin(), shape.rend()}};
  RowChange change;
  PLM_TRY_ASSIGN(change.heads, heads_of(tensor, rule));
  PLM_TRY_ASSIGN(change.skipped, skipped_of(tensor, plan.name));
  const bool is_vector = shape.size() == 1;  // norms and biases are float32 everywhere
  change.to_float = (is_vector || rule.is_float32) && type->name != "F32";
  plan.dims.back() -= change.skipped;
  plan.type = change.to_float ? find_ggml_type("F32") : type;
  if (rule.cut != nullptr) {
    PLM_TRY_ASSIGN(TensorCut cut, rule.cut(*folder_->config(), shape));
    if (!fits(cut, shape)) return refuse(tensor, "shape [{}] contradicts the settings", fmt::join(shape, ", "));
    plan.dims = cut.dims;
    plan.source.make = std::make_shared<const TensorMaker>(CutMaker(folder_, tensor, std::move(cut), change.to_float));
  } else if (!change.is_none() || !is_plain) {
    const auto rows = static_cast<std::size_t>(shape.front());
    plan.source.make = std::make_shared<const TensorMaker>(RowMaker(folder_, tensor, rows, change));
  } else {
    plan.source.bytes = tensor.entry->bytes;
    plan.source.file = tensor.shard;
  }
  return plan;
}

Result<FolderTensorPlan> Planner::plan_mxfp4(const FolderTensor& tensor, const Match& match) const {
  const TensorRule& rule = rule_at(form_, match.rule);
  const std::vector<std::uint64_t>& shape = tensor.entry->shape;
  if (tensor.entry->dtype != SafetensorsDtype::u8 || shape.size() != 4 || shape[3] != kCodeBytes ||
      tensor.entry->bytes.empty()) {
    return refuse(tensor, "is {} [{}], expected U8 with rows of blocks of {} bytes",
                  safetensors_dtype_name(tensor.entry->dtype), fmt::join(shape, ", "), kCodeBytes);
  }
  const FolderTensor* scales = find_partner(*folder_, tensor.name, kBlocks, kScales);
  const bool has_scales = scales != nullptr && scales->entry->dtype == SafetensorsDtype::u8 &&
                          std::ranges::equal(scales->entry->shape, std::span(shape).first(3));
  if (!has_scales) return refuse(tensor, "has no tensor of U8 scales [{}]", fmt::join(std::span(shape).first(3), ", "));
  const std::vector<std::uint64_t> numbers{shape[0], shape[1], shape[2] * kBlockNumbers};
  PLM_TRY_ASSIGN(TensorCut cut, rule.cut(*folder_->config(), numbers));
  if (!fits(cut, numbers)) return refuse(tensor, "shape [{}] contradicts the settings", fmt::join(shape, ", "));
  FolderTensorPlan plan{.name = with_layer(rule.to, match.layer), .dims = cut.dims};
  plan.type = find_ggml_type("MXFP4");
  plan.source.make = std::make_shared<const TensorMaker>(Mxfp4Maker(folder_, tensor, *scales, std::move(cut)));
  return plan;
}

Result<FolderTensorPlan> Planner::plan_stack(std::span<const std::pair<Match, const FolderTensor*>> experts) const {
  std::vector<const FolderTensor*> tensors;
  const FolderTensor& first = *experts.front().second;
  PLM_TRY_ASSIGN(FolderTensorPlan stack, plan(first, experts.front().first));
  for (const auto& [match, tensor] : experts) {
    if (match.expert != tensors.size()) {
      return refuse(*tensor, "stands where that of expert {} was expected; the checkpoint is incomplete",
                    tensors.size());
    }
    PLM_TRY(check_plain_numbers(*folder_, *tensor));
    if (tensor->entry->shape != first.entry->shape || tensor->entry->dtype != first.entry->dtype) {
      return refuse(*tensor, "is {} [{}], expected {} [{}] as of expert 0",
                    safetensors_dtype_name(tensor->entry->dtype), fmt::join(tensor->entry->shape, ", "),
                    safetensors_dtype_name(first.entry->dtype), fmt::join(first.entry->shape, ", "));
    }
    tensors.push_back(tensor);
  }
  if (stack.dims.size() != 2) return refuse(first, "has {} dimensions, expected 2", stack.dims.size());
  stack.dims.push_back(tensors.size());
  stack.source = {};
  stack.source.make = std::make_shared<const TensorMaker>(StackMaker(folder_, std::move(tensors)));
  return stack;
}

// Layers behind the network's own that predict several tokens ahead (DeepSeek-V3); nothing here uses them.
struct LayerRange {
  std::uint64_t begin = 0, end = 0;

  [[nodiscard]] bool has(std::string_view name) const {
    constexpr std::string_view kPrefix = "model.layers.";
    if (!name.starts_with(kPrefix)) return false;
    name.remove_prefix(kPrefix.size());
    const auto layer = take_number(name);
    return layer && *layer >= begin && *layer < end;
  }
};

Result<LayerRange> predicting_layers(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const std::uint64_t count, config.integer_or("num_nextn_predict_layers", 0, {0, kMostLayers}));
  if (count == 0) return LayerRange{};
  PLM_TRY_ASSIGN(const std::uint64_t begin, config.integer("num_hidden_layers", {1, kMostLayers}));
  return LayerRange{begin, begin + count};
}

}  // namespace

Result<std::vector<FolderTensorPlan>> plan_folder_tensors(const std::shared_ptr<const HuggingFaceFolder>& folder,
                                                          const HuggingFaceForm& form, const CheckpointDraft& draft,
                                                          std::vector<std::string>& warnings) {
  PLM_TRY_ASSIGN(const bool is_tied, folder->config()->boolean_or("tie_word_embeddings", form.tied_by_default));
  PLM_TRY_ASSIGN(const LayerRange predicting, predicting_layers(*folder->config()));
  std::vector<std::pair<Match, const FolderTensor*>> matches;
  std::vector<std::string_view> unknown;
  for (const FolderTensor& tensor : folder->tensors()) {
    if (predicting.has(tensor.name)) continue;
    if ((is_tied || draft.kind.scores) && tensor.name == form.head) continue;
    const std::vector<Match> found = find_rules(tensor.name, form);
    for (const Match& match : found) {
      const TensorRule& rule = rule_at(form, match.rule);
      if (rule.to.starts_with(kScoreHead) && !draft.kind.scores) continue;
      if (rule.applies == nullptr || rule.applies(*folder->config())) matches.emplace_back(match, &tensor);
    }
    if (found.empty() && find_partner(*folder, tensor.name, kScales, kBlocks) == nullptr &&
        find_partner(*folder, tensor.name, kFp8Scales, "") == nullptr &&
        std::ranges::none_of(kComputed, [&](auto end) { return tensor.name.ends_with(end); })) {
      unknown.push_back(tensor.name);
    }
  }
  if (!is_tied && !draft.kind.scores && !form.head.empty() && !folder->tensors().empty() &&
      folder->find_tensor(form.head) == nullptr) {
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
  std::size_t layers_begin = 0;
  while (layers_begin < rule_count(form) && rule_at(form, layers_begin).from.find(kLayer) == std::string_view::npos) {
    ++layers_begin;
  }
  const auto place = [&](const auto& matched) {
    const Match& match = matched.first;
    const std::uint64_t outside = match.rule < layers_begin ? kNoLayer : kMostLayers + 1;
    return std::tuple(match.layer ? *match.layer + 1 : outside, match.rule, match.expert.value_or(0));
  };
  std::ranges::sort(matches, {}, place);
  std::vector<FolderTensorPlan> plans;
  std::set<std::string, std::less<>> names;
  const Planner planner(folder, form, draft);
  for (std::size_t begin = 0, end = 0; begin < matches.size(); begin = end) {
    const Match& match = matches[begin].first;
    for (end = begin + 1; match.expert && end < matches.size(); ++end) {
      if (matches[end].first.rule != match.rule || matches[end].first.layer != match.layer) break;
    }
    const std::span experts(matches.data() + begin, end - begin);
    PLM_TRY_ASSIGN(FolderTensorPlan plan,
                   match.expert ? planner.plan_stack(experts) : planner.plan(*matches[begin].second, match));
    if (!names.insert(plan.name).second) {
      return fail(ErrorKind::bad_input, "{}: tensor {}: a second one that would be {}; expected one", folder->path(),
                  printable(matches[begin].second->name, 120), plan.name);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace plm
