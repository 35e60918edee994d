#include "model/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/json.h"
#include "base/utf8.h"
#include "format/huggingface_folder.h"
#include "model/architecture.h"
#include "model/folder_tensors.h"
#include "model/plain_numbers.h"
#include "model/sentence_settings.h"

namespace plm {
namespace {

// Texts of the tokeniser and the keys they are handed on under.
struct TextRule {
  std::string_view file;
  std::string_view key;
};
constexpr TextRule kTexts[] = {
    {"tokenizer_config.json", "tokenizer.huggingface.config"},
    {"special_tokens_map.json", "tokenizer.huggingface.special_tokens_map"},
    {"chat_template.jinja", "tokenizer.chat_template"},
};
constexpr TextRule kTokenizers[] = {
    // the first that there is
    {"tokenizer.json", "tokenizer.huggingface.json"},
    {"tokenizer.model", "tokenizer.sentencepiece.model"},
    {"sentencepiece.bpe.model", "tokenizer.sentencepiece.model"},
    {"spiece.model", "tokenizer.sentencepiece.model"},
};
constexpr std::uint64_t kMostTokens = 1U << 24;

struct FoundForm {
  const Architecture* architecture = nullptr;
  const HuggingFaceForm* form = nullptr;
  const CheckpointClass* kind = nullptr;
};

std::string known_classes() {
  std::vector<std::string_view> names;
  for (const Architecture* architecture : architectures()) {
    if (architecture->huggingface == nullptr) continue;
    for (const CheckpointClass& known : architecture->huggingface->classes) names.push_back(known.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The architecture whose checkpoint this is.
Result<FoundForm> find_form(const ConfigReader& config) {
  PLM_TRY_ASSIGN(const auto classes, config.texts_or_none("architectures"));
  PLM_TRY_ASSIGN(const std::string type, config.text("model_type"));
  for (const Architecture* architecture : architectures()) {
    if (architecture->huggingface == nullptr) continue;
    for (const CheckpointClass& known : architecture->huggingface->classes) {
      const bool is_class = classes.empty() || classes.front() == known.name;
      if (is_class && type == known.model_type) {
        return FoundForm{architecture, architecture->huggingface, &known};
      }
    }
  }
  return fail(ErrorKind::bad_input, "{}: architectures = [{}], model_type = \"{}\": not known; this version reads {}",
              config.path(), printable(fmt::format("{}", fmt::join(classes, ", ")), 80), printable(type, 80),
              known_classes());
}

Result<void> add_settings(const HuggingFaceForm& form, CheckpointDraft& draft) {
  for (const SettingRule& rule : form.settings) {
    if (!rule.required && !draft.config.has(rule.from)) continue;
    if (rule.kind == SettingKind::real) {
      PLM_TRY_ASSIGN(const double value, draft.config.positive_real(rule.from, rule.max));
      draft.keys.add_f32(draft.key(rule.to), static_cast<float>(value));
    } else {
      const ConfigReader::IntegerRange range{static_cast<std::uint64_t>(rule.min),
                                             static_cast<std::uint64_t>(rule.max)};
      PLM_TRY_ASSIGN(const std::uint64_t value, draft.config.integer(rule.from, range));
      draft.keys.add_u32(draft.key(rule.to), static_cast<std::uint32_t>(value));
    }
  }
  if (form.complete != nullptr) PLM_TRY(form.complete(draft));
  return draft.kind.scores ? add_score_settings(draft) : Result<void>();
}

// "103K", "1.2B": a number of parameters as names of models give it, with at least two digits.
std::string rounded_count(std::uint64_t parameters) {
  auto scaled = static_cast<double>(parameters);
  std::string_view unit = "K";
  for (const std::string_view larger : {"K", "M", "B", "T"}) {
    unit = larger;
    scaled /= 1000;
    if (scaled <= 1000) break;
  }
  return fmt::format("{:.{}f}{}", scaled, scaled <= 0.5 ? 2 : scaled < 9.5 ? 1 : 0, unit);
}

// The number of parameters; with experts "8x7B", as though there was one expert, times how many there are. (The biases
// of experts are counted whole, as llama.cpp's converter does.)
std::string size_label(const std::vector<FolderTensorPlan>& tensors) {
  std::uint64_t parameters = 0, experts = 0;
  for (const FolderTensorPlan& tensor : tensors) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : tensor.dims) count *= dim;
    const bool is_of_experts = tensor.dims.size() == 3 && tensor.name.find("_exps.") != std::string::npos;
    if (is_of_experts) experts = tensor.dims.back();
    parameters += is_of_experts ? count / tensor.dims.back() : count;
  }
  if (parameters == 0) return "";
  return experts > 0 ? fmt::format("{}x{}", experts, rounded_count(parameters)) : rounded_count(parameters);
}

// What most of the numbers are stored as, by the numbers that GGUF has for it.
std::uint32_t file_type(const std::vector<FolderTensorPlan>& tensors) {
  constexpr std::uint32_t kF16 = 1, kBf16 = 32, kMxfp4 = 38;
  std::uint64_t f32 = 0, f16 = 0, bf16 = 0;
  for (const FolderTensorPlan& tensor : tensors) {
    if (tensor.type->name == "MXFP4") return kMxfp4;  // experts in four bits, the rest as it is
    if (tensor.dims.size() < 2) continue;
    std::uint64_t& count = tensor.type->name == "F16" ? f16 : tensor.type->name == "BF16" ? bf16 : f32;
    ++count;
  }
  if (f16 > f32 && f16 >= bf16) return kF16;
  return bf16 > f32 ? kBf16 : 0;
}

Result<void> add_texts(const HuggingFaceFolder& folder, GgufWriter& keys) {
  for (const TextRule& rule : kTokenizers) {
    PLM_TRY_ASSIGN(const auto text, folder.read_text(rule.file));
    if (!text) continue;
    keys.add_string(rule.key, *text);
    break;
  }
  for (const TextRule& rule : kTexts) {
    PLM_TRY_ASSIGN(const auto text, folder.read_text(rule.file));
    if (text) keys.add_string(rule.key, *text);
  }
  return {};
}

// The tokens that end a text, where the settings know more of them than the tokeniser's files, which name one.
Result<void> add_end_tokens(const HuggingFaceFolder& folder, GgufWriter& keys) {
  std::vector<std::uint32_t> ids;
  const auto take = [&ids](const ConfigReader& config) -> Result<void> {
    PLM_TRY_ASSIGN(const auto found, config.integers_or_none("eos_token_id", {0, kMostTokens}));
    for (const std::uint64_t id : found) {
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(static_cast<std::uint32_t>(id));
    }
    return {};
  };
  PLM_TRY_ASSIGN(const auto text, folder.read_text("generation_config.json"));
  if (text) {
    PLM_TRY_ASSIGN(const auto generation, ConfigReader::parse(*text, folder.path() + "/generation_config.json"));
    PLM_TRY(take(generation));
  }
  if (folder.config()) PLM_TRY(take(*folder.config()));
  if (ids.size() > 1) keys.add_u32s("tokenizer.ggml.eos_token_ids", ids);
  return {};
}

// What the makers advise for sampling, under the keys that GGUF has for it. It is advice: a value that is no number is
// passed over, and all of it is where the advice is not to sample.
Result<void> add_sampling(const HuggingFaceFolder& folder, GgufWriter& keys) {
  struct NumberRule {
    const char* name;
    std::string_view key;
    bool is_whole = false;
  };
  constexpr NumberRule kNumbers[] = {
      {"temperature", "general.sampling.temp"},
      {"top_k", "general.sampling.top_k", true},
      {"top_p", "general.sampling.top_p"},
      {"min_p", "general.sampling.min_p"},
      {"repetition_penalty", "general.sampling.penalty_repeat"},
  };
  PLM_TRY_ASSIGN(const auto text, folder.read_text("generation_config.json"));
  if (!text) return {};
  const auto parsed = parse_json(*text, "generation_config.json");
  if (!parsed.has_value() || !parsed->is_object() || parsed->value("do_sample", Json(true)) == Json(false)) return {};
  for (const NumberRule& rule : kNumbers) {
    const auto found = parsed->find(rule.name);
    if (found == parsed->end() || !found->is_number()) continue;
    const auto number = found->get<double>();
    if (!rule.is_whole) {
      keys.add_f32(rule.key, static_cast<float>(number));
    } else if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max()) {
      keys.add_i32(rule.key, static_cast<std::int32_t>(number));
    }
  }
  return {};
}

// A model without weights is of use to nobody who wants to run it.
Result<void> check_weights(const HuggingFaceFolder& folder, CheckpointUse use) {
  if (use != CheckpointUse::model || !folder.tensors().empty()) return {};
  std::error_code none;
  if (std::filesystem::exists(folder.path() + "/pytorch_model.bin", none)) {
    return fail(ErrorKind::bad_input,
                "{}/pytorch_model.bin: a Python pickle, which can run code; save the model as "
                "model.safetensors",
                folder.path());
  }
  return fail(ErrorKind::bad_input,
              "{}: no model.safetensors and no model.safetensors.index.json; the folder has no "
              "weights",
              folder.path());
}

class FolderTranslation {
 public:
  FolderTranslation(std::shared_ptr<const HuggingFaceFolder> folder, CheckpointUse use)
      : folder_(std::move(folder)), use_(use) {}

  Result<std::shared_ptr<const GgufFile>> run();

 private:
  Result<void> add_model();
  void add_head(std::string_view architecture);
  void add_tensor(FolderTensorPlan plan);
  void add_extra(CheckpointDraft::Extra extra);

  std::shared_ptr<const HuggingFaceFolder> folder_;
  CheckpointUse use_;
  GgufWriter keys_;
  GgufParts parts_;
};

Result<std::shared_ptr<const GgufFile>> FolderTranslation::run() {
  parts_.name = folder_->path();
  if (folder_->config()) {
    PLM_TRY(add_model());
  } else if (use_ == CheckpointUse::vocabulary) {
    add_head("none");
  } else {
    return fail(ErrorKind::bad_input,
                "{}: is a directory without config.json, so it is no model; name a GGUF file or a Hugging Face folder",
                folder_->path());
  }
  PLM_TRY(add_texts(*folder_, keys_));
  PLM_TRY(add_end_tokens(*folder_, keys_));
  PLM_TRY(add_sampling(*folder_, keys_));
  parts_.header = keys_.header();
  for (const auto& shard : folder_->shards()) parts_.files.push_back(shard->mapped());
  return GgufFile::assemble(std::move(parts_), {.least_tensors = use_ == CheckpointUse::model ? 1U : 0U});
}

void FolderTranslation::add_head(std::string_view architecture) {
  std::string name = std::filesystem::path(folder_->path()).filename().string();
  keys_.add_string("general.architecture", architecture);
  keys_.add_string("general.type", "model");
  keys_.add_string("general.name", name.empty() || name == "." || name == ".." ? "model" : name);
}

Result<void> FolderTranslation::add_model() {
  const ConfigReader& config = *folder_->config();
  const auto found = find_form(config);
  if (!found && use_ == CheckpointUse::vocabulary) {
    add_head("none");
    return {};
  }
  if (!found) return tl::unexpected(found.error());
  PLM_TRY(check_weights(*folder_, use_));
  PLM_TRY_ASSIGN(const auto quantisation, config.section("quantization_config"));
  std::string method;
  if (quantisation) {
    PLM_TRY_ASSIGN(method, quantisation->text_or("quant_method", "unnamed"));
  }
  if (!method.empty() && method != found->form->quant_method && method != kFp8Method) {
    return config.error("quantization_config", "absent; quantised checkpoints are not read, convert the original");
  }
  const std::string_view architecture = found->architecture->head.name;
  add_head(architecture);
  CheckpointDraft draft{.config = config, .architecture = architecture, .kind = *found->kind, .keys = keys_};
  PLM_TRY(add_settings(*found->form, draft));
  PLM_TRY(add_sentence_settings(*folder_, draft));
  PLM_TRY_ASSIGN(auto plans, plan_folder_tensors(folder_, *found->form, draft, parts_.warnings));
  if (const std::string label = size_label(plans); !label.empty()) keys_.add_string("general.size_label", label);
  keys_.add_u32("general.file_type", file_type(plans));
  keys_.add_u32("general.quantization_version", 2);
  for (CheckpointDraft::Extra& extra : draft.extra) add_extra(std::move(extra));
  for (FolderTensorPlan& plan : plans) add_tensor(std::move(plan));
  return {};
}

void FolderTranslation::add_tensor(FolderTensorPlan plan) {
  keys_.announce_tensor(plan.name, *plan.type, plan.dims);
  parts_.tensors.push_back(std::move(plan.source));
}

void FolderTranslation::add_extra(CheckpointDraft::Extra extra) {
  if (extra.dims.empty()) extra.dims = {extra.values.size()};
  keys_.announce_tensor(extra.name, *find_ggml_type("F32"), extra.dims);
  const auto copy = [values = std::move(extra.values)](std::span<std::byte> out) {
    std::memcpy(out.data(), values.data(), out.size());
  };
  parts_.tensors.push_back({.bytes = {}, .make = std::make_shared<const TensorMaker>(copy)});
}

}  // namespace

Result<std::shared_ptr<const GgufFile>> translate_folder(std::shared_ptr<const HuggingFaceFolder> folder,
                                                         CheckpointUse use) {
  return FolderTranslation(std::move(folder), use).run();
}

Result<std::shared_ptr<const GgufFile>> open_checkpoint(const std::string& path, CheckpointUse use) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    PLM_TRY_ASSIGN(auto folder, HuggingFaceFolder::open(path));
    return translate_folder(std::move(folder), use);
  }
  return GgufFile::open(path, {.least_tensors = use == CheckpointUse::vocabulary ? 0U : 1U});
}

}  // namespace plm
