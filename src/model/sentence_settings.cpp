#include "model/sentence_settings.h"

#include <array>
#include <charconv>
#include <optional>

#include "format/safetensors.h"
#include "model/sequence_head.h"

namespace plm {
namespace {

constexpr std::uint64_t kMostTokens = 1U << 30;
constexpr std::uint64_t kMostFeatures = 1U << 20;
constexpr std::size_t kMostLabels = 1U << 14;

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// The folder of a module, beside modules.json.
Result<std::string> place_of(const ConfigReader& module) {
  PLM_TRY_ASSIGN(std::string place, module.text("path"));
  if (place.empty() || place.starts_with('.') || place.find('/') != std::string::npos) {
    return module.error("path", "the name of a folder beside modules.json");
  }
  return place;
}

// The config.json of a module.
Result<ConfigReader> settings_of(const HuggingFaceFolder& folder, const ConfigReader& module) {
  PLM_TRY_ASSIGN(const std::string place, place_of(module));
  const std::string name = place + "/config.json";
  PLM_TRY_ASSIGN(const auto text, folder.read_text(name));
  if (!text) return module.error("path", "a folder that holds a config.json");
  return ConfigReader::parse(*text, folder.path() + "/" + name);
}

Result<Pooling> read_pooling(const ConfigReader& settings) {
  struct Mode {
    std::string_view flag, name;
    Pooling pooling;
  };
  constexpr std::array kModes{Mode{"pooling_mode_mean_tokens", "mean", Pooling::mean},
                              Mode{"pooling_mode_cls_token", "cls", Pooling::cls},
                              Mode{"pooling_mode_lasttoken", "lasttoken", Pooling::last}};
  constexpr std::array kUnknown{"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                "pooling_mode_weightedmean_tokens"};
  for (const char* flag : kUnknown) {
    PLM_TRY_ASSIGN(const bool is_on, settings.boolean_or(flag, false));
    if (is_on) return settings.error(flag, "false; this version takes the mean, the first or the last token");
  }
  PLM_TRY_ASSIGN(const bool includes_prompt, settings.boolean_or("include_prompt", true));
  if (!includes_prompt) return settings.error("include_prompt", "true; this version counts the prompt's tokens");
  PLM_TRY_ASSIGN(const std::string stated, settings.text_or("pooling_mode", ""));
  std::optional<Pooling> found;
  for (const Mode& mode : kModes) {
    PLM_TRY_ASSIGN(const bool is_on, settings.boolean_or(mode.flag, false));
    if (!is_on && stated != mode.name) continue;
    if (found) return settings.error(mode.flag, "false; this version does not put several ways of pooling together");
    found = mode.pooling;
  }
  if (!found) return settings.error("pooling_mode", "mean, cls or lasttoken");
  return *found;
}

// One dense layer on the pooled vector: dense_N.weight [outputs, inputs], its bias and activation.
Result<void> add_dense(const HuggingFaceFolder& folder, const ConfigReader& module, std::size_t number,
                       CheckpointDraft& draft) {
  PLM_TRY_ASSIGN(const ConfigReader settings, settings_of(folder, module));
  PLM_TRY_ASSIGN(const std::uint64_t inputs, settings.integer("in_features", {1, kMostFeatures}));
  PLM_TRY_ASSIGN(const std::uint64_t outputs, settings.integer("out_features", {1, kMostFeatures}));
  PLM_TRY_ASSIGN(const std::string activation,
                 settings.text_or("activation_function", "torch.nn.modules.activation.Tanh"));
  const bool is_tanh = last_part(activation) == "Tanh";
  if (!is_tanh && last_part(activation) != "Identity") {
    return settings.error("activation_function", "Tanh or Identity; this version knows no other here");
  }
  PLM_TRY_ASSIGN(const std::string place, place_of(module));
  PLM_TRY_ASSIGN(const auto weights, HuggingFaceFolder::open(folder.path() + "/" + place));
  const std::string name = dense_name(number);
  draft.keys.add_string(draft.key(name + ".activation"), is_tanh ? "tanh" : "none");
  PLM_TRY_ASSIGN(const bool has_bias, settings.boolean_or("bias", true));
  for (const char* part : {"weight", "bias"}) {
    const bool is_bias = std::string_view(part) == "bias";
    if (is_bias && !has_bias) continue;
    const FolderTensor* tensor = weights->find_tensor(fmt::format("linear.{}", part));
    const std::vector<std::uint64_t> shape = is_bias ? std::vector{outputs} : std::vector{outputs, inputs};
    if (tensor == nullptr || tensor->entry->shape != shape) {
      return fail(ErrorKind::bad_input, "{}: tensor linear.{}: {}, expected the shape [{}] in model.safetensors",
                  weights->path(), part,
                  tensor == nullptr ? "missing" : fmt::format("shape [{}]", fmt::join(tensor->entry->shape, ", ")),
                  fmt::join(shape, ", "));
    }
    const SafetensorsDtype dtype = tensor->entry->dtype;
    if (dtype != SafetensorsDtype::f32 && dtype != SafetensorsDtype::f16 && dtype != SafetensorsDtype::bf16) {
      return fail(ErrorKind::bad_input, "{}: tensor linear.{}: is of type {}, expected F32, F16 or BF16",
                  weights->path(), part, safetensors_dtype_name(dtype));
    }
    std::vector<float> values(is_bias ? outputs : outputs * inputs);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = safetensors_float(dtype, tensor->entry->bytes, i);
    draft.extra.push_back({fmt::format("{}.{}", name, part), std::move(values), {shape.rbegin(), shape.rend()}});
  }
  return {};
}

// How many tokens of a text count.
Result<void> add_length(const HuggingFaceFolder& folder, CheckpointDraft& draft) {
  PLM_TRY_ASSIGN(const auto text, folder.read_text("sentence_bert_config.json"));
  if (!text) return {};
  PLM_TRY_ASSIGN(const auto settings, ConfigReader::parse(*text, folder.path() + "/sentence_bert_config.json"));
  PLM_TRY_ASSIGN(const std::uint64_t tokens, settings.integer_or("max_seq_length", 0, {1, kMostTokens}));
  if (tokens > 0) draft.keys.add_u32(draft.key(kEmbeddingTokensKey), static_cast<std::uint32_t>(tokens));
  return {};
}

// Words in front of texts of a kind: "query" to "search_query: ".
Result<void> add_prompts(const HuggingFaceFolder& folder, CheckpointDraft& draft) {
  PLM_TRY_ASSIGN(const auto text, folder.read_text("config_sentence_transformers.json"));
  if (!text) return {};
  PLM_TRY_ASSIGN(const auto settings, ConfigReader::parse(*text, folder.path() + "/config_sentence_transformers.json"));
  PLM_TRY_ASSIGN(const auto prompts, settings.named_texts_or_none("prompts"));
  PLM_TRY_ASSIGN(const std::string standard, settings.text_or("default_prompt_name", ""));
  if (prompts.empty()) return {};
  std::vector<std::string_view> names, texts;
  for (const auto& [name, words] : prompts) {
    names.push_back(name);
    texts.push_back(words);
  }
  draft.keys.add_strings(draft.key(kPromptNamesKey), names);
  draft.keys.add_strings(draft.key(kPromptTextsKey), texts);
  if (!standard.empty()) draft.keys.add_string(draft.key(kStandardPromptKey), standard);
  return {};
}

}  // namespace

Result<void> add_sentence_settings(const HuggingFaceFolder& folder, CheckpointDraft& draft) {
  PLM_TRY_ASSIGN(const auto text, folder.read_text("modules.json"));
  if (!text) return {};
  PLM_TRY_ASSIGN(const auto modules, ConfigReader::parse_list(*text, folder.path() + "/modules.json"));
  std::size_t dense = 0;
  bool normalizes = false;
  for (const ConfigReader& module : modules) {
    PLM_TRY_ASSIGN(const std::string type, module.text_or("type", ""));
    const std::string_view kind = last_part(type);
    if (kind == "Transformer") continue;
    if (kind == "Normalize") {
      normalizes = true;
    } else if (kind == "Pooling") {
      PLM_TRY_ASSIGN(const ConfigReader settings, settings_of(folder, module));
      PLM_TRY_ASSIGN(const Pooling pooling, read_pooling(settings));
      draft.keys.add_u32(draft.key(kPoolingKey), static_cast<std::uint32_t>(pooling));
    } else if (kind == "Dense" && dense < kMostDense && !normalizes) {
      PLM_TRY(add_dense(folder, module, dense++, draft));
    } else {
      return module.error("type", "Transformer, Pooling, at most eight of Dense, Normalize, in this order");
    }
  }
  draft.keys.add_boolean(draft.key(kNormalizeKey), normalizes);
  PLM_TRY(add_length(folder, draft));
  return add_prompts(folder, draft);
}

Result<void> add_score_settings(CheckpointDraft& draft) {
  draft.keys.add_u32(draft.key(kPoolingKey), static_cast<std::uint32_t>(Pooling::rank));
  PLM_TRY_ASSIGN(const auto labels, draft.config.named_texts_or_none("id2label"));
  if (labels.empty() || labels.size() > kMostLabels) return {};
  std::vector<std::string_view> in_order(labels.size());
  for (const auto& [number, label] : labels) {
    std::size_t place = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), place);
    const bool is_number = code == std::errc() && end == number.data() + number.size();
    if (!is_number || place >= labels.size()) return draft.config.error("id2label", "names by 0, 1, 2 and so on");
    in_order[place] = label;
  }
  draft.keys.add_strings(draft.key(kLabelsKey), in_order);
  return {};
}

}  // namespace plm
