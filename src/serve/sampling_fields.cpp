#include "serve/sampling_fields.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/utf8.h"
#include "sampling/order.h"
#include "sampling/profile.h"

namespace plm {
namespace {

constexpr Field kFields[] = {
    {.name = "profile", .summary = "whose meaning the controls have: plm, llamacpp, koboldcpp, ollama, vllm, openai"},
    {.name = "api_type", .summary = "SillyTavern's name of the back end it expects; chooses the profile"},
    {.name = "samplers", .summary = "names of the samplers in their order, or letters", .type = FieldType::any},
    {.name = "sampler_order", .summary = "KoboldCpp's numbers of the samplers", .type = FieldType::any},
    {.name = "sampler_priority",
     .summary = "names of the samplers in their order, as text-generation-webui has them",
     .type = FieldType::any},
    {.name = "dynamic_temperature",
     .aliases = "dynatemp",
     .summary = "the temperature follows the entropy from dynatemp_low to dynatemp_high",
     .type = FieldType::boolean},
    {.name = "dynatemp_low", .aliases = "min_temp", .type = FieldType::real, .min = 0, .max = 1e6},
    {.name = "dynatemp_high", .aliases = "max_temp", .type = FieldType::real, .min = 0, .max = 1e6},
    {.name = "do_sample", .summary = "false: always the likeliest token", .type = FieldType::boolean},
    {.name = "custom_token_bans",
     .aliases = "banned_tokens_ids",
     .summary = "ids of tokens that must not appear: 1,2,3",
     .type = FieldType::text},
    {.name = "logit_bias",
     .aliases = "bias",
     .summary = "numbers added to logits: {\"15\": 1.5} or [[15, 1.5], [\"text\", -2], [7, false]]",
     .type = FieldType::any},
};

// Names that only requests have.
constexpr std::pair<std::string_view, std::string_view> kMoreNames[] = {
    {"repetition_penalty_range", "repeat_last_n"},
    {"min_length", "min_tokens"},
    {"ignore_eos", "ban_eos"},
};

// Samplers of other programs that have no counterpart here; an order may name them.
constexpr std::string_view kForeignSamplers[] = {"epsilon_cutoff", "eta_cutoff", "encoder_repetition_penalty",
                                                 "no_repeat_ngram"};

// What OpenAI's servers do where the request says nothing, in a chain that has every control.
const std::pair<std::string_view, Json> kOpenaiDefaults[] = {{"temperature", 1.0},  {"top_p", 1.0},
                                                             {"top_k", 0},          {"min_p", 0.0},
                                                             {"repeat_last_n", -1}, {"penalty_prompt", "repeat"}};

bool is_profile(std::string_view name) {
  return std::ranges::any_of(profiles(), [&](const Profile& profile) { return profile.name == name; });
}

Result<void> check_sampler(std::string_view name, std::string_view field) {
  UnknownSamplers none_skipped;
  const auto order = order_of_names(name, none_skipped);
  if (order.has_value()) return {};
  const std::string& message = order.error().message;  // "samplers: unknown ..."
  return fail(ErrorKind::usage, "{}{}", field, message.substr(message.find(':')));
}

// `samplers` as one text of names; a text of llama.cpp's letters goes to `sampler_seq`.
Result<void> read_order(const RequestFields& fields, Settings& settings) {
  if (const Json* samplers = fields.find("samplers"); samplers != nullptr) {
    if (samplers->is_string()) {
      const auto text = samplers->get<std::string>();
      UnknownSamplers none_skipped;
      if (text.find(';') == std::string::npos && !order_of_names(text, none_skipped).has_value()) {
        const auto order = order_of_letters(text, none_skipped);
        PLM_TRY(order);
        return settings.set_json("sampler_seq", text);
      }
      PLM_TRY(check_sampler(text, "samplers"));
      return settings.set_json("samplers", text);
    }
    std::string names;
    if (!samplers->is_array()) return fail(ErrorKind::usage, "samplers: expected an array of names");
    for (const Json& one : *samplers) {
      if (!one.is_string()) return fail(ErrorKind::usage, "samplers: expected an array of names");
      std::string name = one.get<std::string>();
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;  // "Top-K"
      PLM_TRY(check_sampler(name, "samplers"));
      names += (names.empty() ? "" : ";") + name;
    }
    return settings.set_json("samplers", names);
  }
  return {};
}

Result<void> read_priority(const RequestFields& fields, TextPlan& plan) {
  const Json* priority = fields.find("sampler_priority");
  if (priority == nullptr || fields.has("samplers")) return {};
  std::vector<std::string> given;
  if (priority->is_string()) {
    for (const std::string_view name : split_list(priority->get<std::string>())) given.emplace_back(name);
  } else if (priority->is_array()) {
    for (const Json& name : *priority) {
      if (!name.is_string()) return fail(ErrorKind::usage, "sampler_priority: expected an array of names");
      given.push_back(name.get<std::string>());
    }
  } else {
    return fail(ErrorKind::usage, "sampler_priority: expected an array of names");
  }
  std::string names;
  for (std::string& name : given) {
    if (name == "quadratic_sampling") name = "smoothing";
    if (name == "presence_penalty" || name == "frequency_penalty" || name == "repetition_penalty") name = "penalties";
    if (name == "mirostat") continue;  // has an order of its own
    if (std::ranges::find(kForeignSamplers, name) != std::end(kForeignSamplers)) {
      plan.report.notes.push_back(fmt::format("sampler_priority: there is no {} here; its place is left out", name));
      continue;
    }
    PLM_TRY(check_sampler(name, "sampler_priority"));
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ";") + name;
  }
  if (names.empty()) return {};
  // Lists of before these three could be moved do not name them, and they acted all the same.
  if (names.find("penalties") == std::string::npos) names = "penalties;" + names;
  if (names.find("dry") == std::string::npos) names = "dry;" + names;
  if (names.find("xtc") == std::string::npos) names += ";xtc";
  return plan.sampling.set_json("samplers", names);
}

// A bias and a list of bans are one control.
Result<void> read_biases(const RequestFields& fields, Settings& settings) {
  const Json* bias = fields.find("logit_bias");
  const std::string bans = fields.text("custom_token_bans");
  if (bias == nullptr && bans.empty()) return {};
  if (bias != nullptr && !bias->is_structured()) {
    return fail(ErrorKind::usage, "logit_bias: expected an object or an array of pairs");
  }
  if (bias != nullptr && bans.empty()) {
    return bias->empty() ? Result<void>() : settings.set_json("logit_bias", json_text(*bias));
  }
  Json pairs = Json::array();
  if (bias != nullptr && bias->is_object()) {
    for (const auto& [key, value] : bias->items()) pairs.push_back({key, value});
  } else if (bias != nullptr) {
    pairs = *bias;
  }
  for (const std::string_view ban : split_list(bans)) {
    const auto id = parse_json(ban, "custom_token_bans");
    if (!id.has_value() || !id->is_number_integer()) {
      return fail(ErrorKind::usage, "custom_token_bans: found \"{}\", expected ids of tokens: 1,2,3",
                  printable(bans, 80));
    }
    pairs.push_back({*id, false});
  }
  return settings.set_json("logit_bias", json_text(pairs));
}

Result<void> read_dynamic_temperature(const RequestFields& fields, TextPlan& plan) {
  const auto low = fields.real("dynatemp_low"), high = fields.real("dynatemp_high");
  if (!fields.boolean("dynamic_temperature") || !low.has_value() || !high.has_value()) {
    if (fields.boolean("dynamic_temperature")) {
      return fail(ErrorKind::usage, "dynamic_temperature: needs dynatemp_low and dynatemp_high");
    }
    return {};
  }
  if (*high < *low) return fail(ErrorKind::usage, "dynatemp_high: {} is below dynatemp_low, {}", *high, *low);
  PLM_TRY(plan.sampling.set_json("temperature", (*low + *high) / 2));
  return plan.sampling.set_json("dynatemp_range", (*high - *low) / 2);
}

// The value as the parameter's type has it: 40.0 is a whole number, a text of a JSON array is that array.
Json adapted(const Parameter& parameter, const Json& value) {
  if (parameter.type == ParameterType::integer && value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::trunc(number) && std::abs(number) < 0x1p53) return static_cast<std::int64_t>(number);
  }
  if (parameter.type == ParameterType::boolean && value.is_number_integer() && (value == 0 || value == 1)) {
    return value == 1;
  }
  if (parameter.name == "dry_sequence_breakers" && value.is_string()) {
    auto list = parse_json(value.get<std::string>(), parameter.name);
    if (list.has_value() && list->is_array()) return *std::move(list);
    return Json::array({value});  // one breaker
  }
  return value;
}

struct GivenControl {
  std::string field;
  const Parameter* parameter;
  const Json* value;
};

// Every control once, by its best name.
std::vector<GivenControl> given_controls(const RequestFields& fields) {
  std::map<std::string_view, GivenControl> by_parameter;
  for (const auto& [name, value] : fields.undeclared()) {
    const Parameter* parameter = sampling_parameter_of(name);
    if (parameter == nullptr) continue;
    const auto found = by_parameter.find(parameter->name);
    if (found == by_parameter.end()) {
      by_parameter.emplace(parameter->name, GivenControl{name, parameter, value});
    } else if (name == parameter->name) {
      found->second = {name, parameter, value};
    }
  }
  std::vector<GivenControl> controls;
  for (auto& [name, control] : by_parameter) controls.push_back(std::move(control));
  return controls;
}

bool is_neutral(const Parameter& parameter, const Json& value) {
  if (parameter.name == "top_k" || parameter.name == "top_n_sigma") return value.is_number() && value <= 0;
  if (parameter.name == "adaptive_target") return value.is_number() && value < 0;
  return std::visit(
      [&](const auto& neutral) {
        if constexpr (std::is_same_v<std::decay_t<decltype(neutral)>, std::monostate>) {
          return true;  // a value that only acts beside another
        } else {
          return value == Json(neutral);
        }
      },
      parameter.neutral);
}

// OpenAI's own profile, unless the client sends more than that has.
std::string_view widened(std::string_view profile, const std::vector<GivenControl>& controls,
                         const RequestFields& fields) {
  if (profile != "openai") return profile;
  const Profile& narrow = find_profile("openai");
  const bool has_more = std::ranges::any_of(controls, [&](const GivenControl& control) {
    return narrow.find(control.parameter->name) == nullptr && !is_neutral(*control.parameter, *control.value);
  });
  const bool has_order = fields.has("samplers") || fields.has("sampler_priority") || fields.has("sampler_order");
  return has_more || has_order || fields.boolean("dynamic_temperature") ? "plm" : profile;
}

Result<std::string> choose_profile(const RequestFields& fields, std::string_view standard,
                                   const std::vector<GivenControl>& controls) {
  const std::string asked = fields.text("profile");
  if (!asked.empty()) {
    if (is_profile(asked)) return asked;
    return fail(ErrorKind::usage, "profile: found \"{}\", expected one of {}", printable(asked, 80), kProfileNames);
  }
  const std::string client = fields.text("api_type");
  if (standard == "openai" && client != "openai" && is_profile(client)) return client;
  return std::string(widened(standard, controls, fields));
}

// Sorts the chain's sentences by what they tell of.
void sort_warnings(std::span<const std::string> warnings, const TextPlan& plan, Report& report) {
  for (const std::string& sentence : warnings) {
    const std::string name = sentence.substr(0, sentence.find(':'));
    const bool is_ignored = sentence.find("ignored") != std::string::npos;
    const bool is_clamped = sentence.find("was set to") != std::string::npos;
    if (is_ignored) {
      const Parameter* parameter = plan.sampling.find(name);
      const Json values = plan.sampling.as_json();
      if (parameter != nullptr && values.contains(name) && is_neutral(*parameter, values.at(name))) continue;
      report.ignored.push_back(name);
    } else if (is_clamped) {
      report.clamped.push_back(name);
    }
    report.notes.push_back(sentence);
  }
}

}  // namespace

std::span<const Field> sampling_only_fields() { return kFields; }

const Parameter* sampling_parameter_of(std::string_view field) {
  static const Settings kSettings{sampling_parameters()};
  for (const auto& [name, parameter] : kMoreNames) {
    if (field == name) return kSettings.find(parameter);
  }
  if (field.find('-') != std::string_view::npos) return nullptr;  // dashes are for flags
  return kSettings.find(field);
}

Result<void> read_sampling(const RequestFields& fields, std::string_view profile, const ServedModel& model,
                           TextPlan& plan) {
  const auto controls = given_controls(fields);
  PLM_TRY_ASSIGN(plan.report.profile, choose_profile(fields, profile, controls));
  const Profile& chosen = find_profile(plan.report.profile);
  Settings& settings = plan.sampling;
  PLM_TRY(settings.set_json("profile", plan.report.profile));
  std::vector<std::string> warnings;
  for (const auto& [field, parameter, value] : controls) {
    const auto set = set_in_profile(chosen, settings, parameter->name, adapted(*parameter, *value), warnings);
    if (set.has_value()) continue;
    const std::string& message = set.error().message;
    return fail(ErrorKind::usage, "{}{}", message.starts_with(field) ? "" : field + ": ", message);
  }
  PLM_TRY(read_order(fields, settings));
  PLM_TRY(read_priority(fields, plan));
  if (const Json* numbers = fields.find("sampler_order"); numbers != nullptr && !settings.was_given("samplers")) {
    const std::string text = numbers->is_string() ? numbers->get<std::string>() : json_text(*numbers);
    PLM_TRY(order_of_numbers(text));
    PLM_TRY(settings.set_json("sampler_order", text));
  }
  PLM_TRY(read_biases(fields, settings));
  PLM_TRY(read_dynamic_temperature(fields, plan));
  if (!fields.boolean("do_sample", true)) PLM_TRY(settings.set_json("temperature", 0.0));
  if (profile == "openai" && plan.report.profile == "plm" && !fields.has("profile")) {
    for (const auto& [name, value] : kOpenaiDefaults) {
      if (!settings.was_given(name)) PLM_TRY(settings.set_json(name, value));
    }
  }
  plan.report.model_defaults = apply_sampling_defaults(model.sampling_defaults, settings);
  PLM_TRY_ASSIGN(const Chain chain, Chain::create(settings, model.texts));
  warnings.insert(warnings.end(), chain.warnings().begin(), chain.warnings().end());
  sort_warnings(warnings, plan, plan.report);
  return {};
}

}  // namespace plm
