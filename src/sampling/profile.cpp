#include "sampling/profile.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"
#include "sampling/chain.h"

namespace plm {
namespace {

constexpr std::string_view kWarnClamped = "{}: {} is out of the {} profile's range and was set to {}";

// ---- llama.cpp: 0c1e57098, common/sampling.cpp and tools/server/server-schema.cpp

constexpr ProfileValue kLlama[] = {
    {.name = "min_keep"},
    {.name = "temperature", .min = 0, .clamps = true},
    {.name = "dynatemp_range", .min = 0, .clamps = true},
    {.name = "dynatemp_exponent"},
    {.name = "top_k", .min = 0, .clamps = true},
    {.name = "top_p", .min = 0, .max = 1, .clamps = true},
    {.name = "min_p", .min = 0, .max = 1, .clamps = true},
    {.name = "typical_p", .min = 0, .max = 1, .clamps = true},
    {.name = "top_n_sigma", .min = -1, .clamps = true},
    {.name = "xtc_probability", .min = 0, .max = 1, .clamps = true},
    {.name = "xtc_threshold", .min = 0, .max = 1, .clamps = true},
    {.name = "repeat_penalty"},
    {.name = "repeat_last_n", .min = 0},
    {.name = "presence_penalty"},
    {.name = "frequency_penalty"},
    {.name = "dry_multiplier"},
    {.name = "dry_base", .clamps = true},
    {.name = "dry_allowed_length", .min = 0},
    {.name = "dry_penalty_last_n", .min = 0},
    {.name = "dry_sequence_breakers", .is_list = true},
    {.name = "adaptive_target", .min = -1, .max = 1, .clamps = true},
    {.name = "adaptive_decay", .min = 0, .max = 0.99},
    {.name = "mirostat", .min = 0, .max = 2, .clamps = true},
    {.name = "mirostat_tau"},
    {.name = "mirostat_eta"},
    {.name = "logit_bias"},
    {.name = "ban_eos"},
};

void finish_llama(const Settings& /*given*/, Settings& effective, std::vector<std::string>& warnings) {
  if (effective.real("dry_base") >= 1) return;
  warnings.push_back(
      fmt::format("dry_base: {} is below 1 and was replaced by the default", effective.real("dry_base")));
  (void)effective.set_json("dry_base", 1.75);
}

// ---- KoboldCpp: kcpp_src/gpttype_adapter.cpp at 4fd0ceee

constexpr ProfileValue kKobold[] = {
    {.name = "temperature", .standard = 0.75, .min = 0, .clamps = true},
    {.name = "dynatemp_range", .min = 0, .clamps = true},
    {.name = "dynatemp_exponent", .min = 0, .clamps = true},
    {.name = "smoothing_factor", .min = 0, .clamps = true},
    {.name = "smoothing_curve", .min = 1, .max = 3, .clamps = true},
    {.name = "top_k", .standard = std::int64_t{100}, .min = 0, .clamps = true},
    {.name = "top_p", .standard = 0.92, .min = 0, .max = 1, .clamps = true},
    {.name = "min_p", .standard = 0.0, .min = 0, .max = 1, .clamps = true},
    {.name = "top_a", .min = 0, .clamps = true},
    {.name = "tfs", .min = 0, .max = 1, .clamps = true},
    {.name = "typical_p", .min = 0, .max = 1, .clamps = true},
    {.name = "top_n_sigma", .min = -1, .clamps = true},
    {.name = "xtc_probability", .min = 0, .max = 1, .clamps = true},
    {.name = "xtc_threshold", .standard = 0.2, .min = 0, .max = 1, .clamps = true},
    {.name = "repeat_penalty"},
    {.name = "repeat_last_n", .standard = std::int64_t{320}, .min = 1, .clamps = true},
    {.name = "repeat_slope", .min = 0, .max = 1, .clamps = true},
    {.name = "presence_penalty"},
    {.name = "frequency_penalty"},
    {.name = "dry_multiplier", .min = 0, .clamps = true},
    {.name = "dry_base"},
    {.name = "dry_allowed_length", .min = 0, .clamps = true},
    {.name = "dry_penalty_last_n", .standard = std::int64_t{320}},
    {.name = "dry_sequence_breakers", .standard = std::string_view("none")},
    {.name = "adaptive_target", .min = -1, .max = 1, .clamps = true},
    {.name = "adaptive_decay", .min = 0.01, .max = 0.99, .clamps = true},
    {.name = "mirostat", .min = 0, .max = 2, .clamps = true},
    {.name = "mirostat_tau"},
    {.name = "mirostat_eta"},
    {.name = "logit_bias"},
    {.name = "ban_eos"},
};

void finish_kobold(const Settings& given, Settings& effective, std::vector<std::string>& warnings) {
  if (effective.real("temperature") == 0 && effective.real("dynatemp_range") == 0) {
    (void)effective.set_json("temperature", 1.0);  // top_k does it, in its own place
    (void)effective.set_json("top_k", 1);
  }
  if (effective.integer("dry_penalty_last_n") <= 0) (void)effective.set_json("dry_penalty_last_n", -1);
  if (effective.real("repeat_slope") == 0) (void)effective.set_json("repeat_slope", 1.0);
  if (effective.real("adaptive_target") == 0) (void)effective.set_json("adaptive_target", -1.0);
  if (effective.real("adaptive_target") > 0 && effective.real("min_p") == 0 && effective.real("top_p") == 1) {
    (void)effective.set_json("min_p", 0.002);
    warnings.emplace_back("min_p: set to 0.002, because adaptive_target is on and nothing else cuts");
  }
  if (effective.real("frequency_penalty") == 0) return;
  if (!given.was_given("presence_penalty")) {
    (void)effective.set_json("presence_penalty", effective.real("frequency_penalty"));
    warnings.emplace_back("frequency_penalty: the koboldcpp profile has none and takes it as presence_penalty");
  } else {
    warnings.emplace_back("frequency_penalty: the koboldcpp profile has none and ignored it");
  }
  (void)effective.set_json("frequency_penalty", 0.0);
}

// ---- Ollama: GGUF models at fb307609, which forwards to an embedded llama.cpp server

constexpr ProfileValue kOllama[] = {
    {.name = "temperature", .min = 0, .clamps = true},
    {.name = "top_k", .min = 0, .clamps = true},
    {.name = "top_p", .standard = 0.9, .min = 0, .max = 1, .clamps = true},
    {.name = "min_p", .standard = 0.0, .min = 0, .max = 1, .clamps = true},
    {.name = "typical_p", .min = 0, .max = 1, .clamps = true},
    {.name = "repeat_penalty"},
    {.name = "repeat_last_n"},  // -1 is documented as the whole context
    {.name = "presence_penalty"},
    {.name = "frequency_penalty"},
};

// ---- vLLM: sampling_params.py at 00388f65; V1 sampler

constexpr ProfileValue kVllm[] = {
    {.name = "temperature", .standard = 1.0, .min = 0, .max = 2},
    {.name = "top_k", .standard = std::int64_t{0}, .min = -1},
    {.name = "top_p", .standard = 1.0, .min = 0x1p-1074, .max = 1},
    {.name = "min_p", .standard = 0.0, .min = 0, .max = 1},
    {.name = "repeat_penalty", .min = 0x1p-1074},
    {.name = "repeat_last_n", .standard = std::int64_t{-1}},
    {.name = "presence_penalty", .min = -2, .max = 2},
    {.name = "frequency_penalty", .min = -2, .max = 2},
    {.name = "penalty_prompt", .standard = std::string_view("repeat")},
    {.name = "logit_bias"},
    {.name = "min_tokens", .min = 0},
    {.name = "ban_eos"},
};

void finish_vllm(const Settings& /*given*/, Settings& effective, std::vector<std::string>& warnings) {
  const double temperature = effective.real("temperature");
  if (temperature < 1e-5) {
    for (const auto& [name, value] :
         {std::pair<std::string_view, Json>{"temperature", 0.0}, {"top_k", 0}, {"top_p", 1.0}, {"min_p", 0.0}}) {
      (void)effective.set_json(name, value);
    }
  } else if (temperature < 0.01) {
    warnings.push_back(
        fmt::format("temperature: {} is too small for the vllm profile and was set to 0.01", temperature));
    (void)effective.set_json("temperature", 0.01);
  }
}

// ---- OpenAI: the published API

constexpr ProfileValue kOpenai[] = {
    {.name = "temperature", .standard = 1.0, .min = 0, .max = 2},
    {.name = "top_p", .standard = 1.0, .min = 0, .max = 1},
    {.name = "presence_penalty", .min = -2, .max = 2},
    {.name = "frequency_penalty", .min = -2, .max = 2},
    {.name = "repeat_last_n", .standard = std::int64_t{-1}},
    {.name = "penalty_prompt", .standard = std::string_view("none")},
    {.name = "logit_bias"},
};

constexpr std::string_view kLlamaOrder = "penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;temperature";

constexpr Profile kProfiles[] = {
    {.name = "plm",
     .summary = "every control, ranges refused when left",
     .before = "logit_bias;min_tokens",
     .order = "penalties;dry;top_n_sigma;top_k;top_a;tfs;typical_p;top_p;min_p;xtc;temperature;smoothing;adaptive_p",
     .with_mirostat = "logit_bias;min_tokens;penalties;dry;temperature;smoothing;mirostat",
     .knows_all = true},
    {.name = "llamacpp",
     .summary = "llama.cpp's server: temperature last, the prompt counts, most ranges clamped",
     .before = "logit_bias;min_tokens",
     .order = kLlamaOrder,
     .with_mirostat = "logit_bias;min_tokens;temperature;mirostat",
     .skips_unknown = true,
     .values = kLlama,
     .finish = finish_llama},
    {.name = "koboldcpp",
     .summary = "KoboldCpp: dry first, 3000 candidates at most, xtc last, order by numbers",
     .before = "logit_bias;min_tokens;dry;top_k=3000",
     .order = "penalties;top_k;top_a;tfs;typical_p;top_p;min_p;temperature;smoothing;top_n_sigma",
     .after = "xtc;adaptive_p",
     .with_mirostat = "logit_bias;min_tokens;dry;top_k=3000;penalties;temperature;smoothing;mirostat",
     .values = kKobold,
     .finish = finish_kobold},
    {.name = "ollama",
     .summary = "Ollama: llama.cpp's order, which cannot be changed, and fewer controls",
     .before = "logit_bias;min_tokens",
     .order = kLlamaOrder,
     .order_is_fixed = true,
     .values = kOllama},
    {.name = "vllm",
     .summary = "vLLM: temperature before the cuts, presence and frequency count the answer only",
     .order = "min_tokens;logit_bias;penalties;temperature;min_p;top_k;top_p",
     .order_is_fixed = true,
     .values = kVllm,
     .finish = finish_vllm},
    {.name = "openai",
     .summary = "OpenAI's API: few controls, penalties count the answer only",
     .order = "logit_bias;penalties;temperature;top_p",
     .order_is_fixed = true,
     .values = kOpenai},
};

// Those of the chain as a whole, which is not a profile's business here: Chain knows which orders can be changed.
bool is_of_chain(std::string_view name) {
  constexpr std::string_view kNames[] = {"samplers", "sampler_seq", "sampler_order", "profile", "rng"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_of_sampling(std::string_view name) {
  const auto known = sampling_parameters();
  return std::any_of(known.begin(), known.end(), [&](const Parameter& parameter) { return parameter.name == name; });
}

bool is_number(const Parameter& parameter) {
  return parameter.type == ParameterType::integer || parameter.type == ParameterType::real;
}

Json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Result<void> check_range(const Profile& profile, const Parameter& parameter, double value) {
  const ProfileValue* rule = profile.find(parameter.name);
  if (rule == nullptr || (value >= rule->min && value <= rule->max)) return {};
  return fail(ErrorKind::usage, "{}: {} is out of range, the {} profile allows {}", parameter.name, value, profile.name,
              allowed_text({.name = parameter.name, .min = rule->min, .max = rule->max}));
}

}  // namespace

const ProfileValue* Profile::find(std::string_view parameter) const {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const ProfileValue& value) { return value.name == parameter; });
  return found == values.end() ? nullptr : &*found;
}

std::span<const Profile> profiles() { return kProfiles; }

const Profile& find_profile(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kProfiles), std::end(kProfiles), [&](const Profile& p) { return p.name == name; });
  PLM_CHECK(found != std::end(kProfiles));
  return *found;
}

Result<void> set_in_profile(const Profile& profile, Settings& settings, std::string_view name, const Json& value,
                            std::vector<std::string>& warnings) {
  if (value.is_null()) return {};
  const Parameter* parameter = settings.find(name);
  const ProfileValue* rule = parameter == nullptr ? nullptr : profile.find(parameter->name);
  if (rule != nullptr && rule->is_list && (!value.is_array() || value.empty())) {
    return fail(ErrorKind::usage, "{}: found {}, expected a list of texts, which the {} profile needs", name,
                printable(json_text(value), 80), profile.name);
  }
  if (rule == nullptr || !rule->clamps || !is_number(*parameter) || !value.is_number()) {
    const bool is_text = parameter != nullptr && parameter->type == ParameterType::text;
    return settings.set_json(name, is_text && value.is_structured() ? Json(json_text(value)) : value);
  }
  const double given = value.get<double>();
  const double least = std::max(rule->min, parameter->min), most = std::min(rule->max, parameter->max);
  if (std::isnan(given) || (given >= least && given <= most)) return settings.set_json(name, value);
  const double clamped = std::clamp(given, least, most);
  warnings.push_back(fmt::format(fmt::runtime(kWarnClamped), parameter->name, given, profile.name, clamped));
  if (parameter->type == ParameterType::integer) {
    return settings.set_json(name, static_cast<std::int64_t>(clamped));
  }
  return settings.set_json(name, clamped);
}

Result<Settings> effective_settings(const Profile& profile, const Settings& given, std::vector<std::string>& warnings) {
  Settings effective(given.parameters());
  const Json values = given.as_json();
  for (const Parameter& parameter : given.parameters()) {
    if (!is_of_sampling(parameter.name)) continue;
    const std::string name(parameter.name);
    const ProfileValue* rule = profile.find(parameter.name);
    const bool is_known = profile.knows_all || rule != nullptr || is_of_chain(parameter.name);
    Json value;
    if (given.was_given(name) && is_known) {
      value = values.at(name);
      if (is_number(parameter) && rule != nullptr && rule->clamps) {
        PLM_TRY(set_in_profile(profile, effective, name, value, warnings));
        continue;
      }
      if (is_number(parameter)) PLM_TRY(check_range(profile, parameter, value.get<double>()));
    } else if (is_known) {
      value = json_of(rule == nullptr ? Value{} : rule->standard);
    } else {
      if (given.was_given(name)) {
        warnings.push_back(fmt::format("{}: the {} profile has no such control and ignored it", name, profile.name));
      }
      value = json_of(parameter.neutral);
    }
    if (!value.is_null()) PLM_TRY(effective.set_json(name, value));
  }
  if (profile.finish != nullptr) profile.finish(given, effective, warnings);
  return effective;
}

}  // namespace plm
