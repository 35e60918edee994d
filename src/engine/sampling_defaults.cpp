#include "engine/sampling_defaults.h"

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "sampling/chain.h"
#include "sampling/order.h"
#include "sampling/profile.h"

namespace plm {
namespace {

struct KeyRule {
  std::string_view key, parameter;
};
constexpr std::string_view kSequence = "general.sampling.sequence";
constexpr KeyRule kKeys[] = {
    {kSequence, "samplers"},
    {"general.sampling.top_k", "top_k"},
    {"general.sampling.top_p", "top_p"},
    {"general.sampling.min_p", "min_p"},
    {"general.sampling.xtc_probability", "xtc_probability"},
    {"general.sampling.xtc_threshold", "xtc_threshold"},
    {"general.sampling.temp", "temperature"},
    {"general.sampling.penalty_last_n", "repeat_last_n"},
    {"general.sampling.penalty_repeat", "repeat_penalty"},
    {"general.sampling.mirostat", "mirostat"},
    {"general.sampling.mirostat_tau", "mirostat_tau"},
    {"general.sampling.mirostat_eta", "mirostat_eta"},
};

// Null for arrays, which none of them is.
Json json_of(const MetaValue& value) {
  if (const auto text = value.as_string()) return std::string(*text);
  if (const auto whole = value.as_integer()) return *whole;
  // As it is written in decimal: 0.95, not 0.949999988079071, which is what a float32 holds.
  if (const auto real = value.as_real()) return std::stod(fmt::format("{}", static_cast<float>(*real)));
  return nullptr;
}

Result<void> check(const KeyRule& rule, const Json& value) {
  Settings trial(sampling_parameters());
  PLM_TRY(trial.set_json(rule.parameter, value));
  if (rule.key != kSequence) return {};
  UnknownSamplers none;
  PLM_TRY(order_of_names(value.get<std::string>(), none));
  return {};
}

bool gives_an_order(const Settings& settings) {
  return settings.was_given("samplers") || settings.was_given("sampler_seq") || settings.was_given("sampler_order");
}

// Whether neither the caller nor the profile has a say in it.
bool is_open(const SamplingDefault& advice, const Settings& settings) {
  const Profile& profile = find_profile(settings.text("profile"));
  // The other back ends have orders of their own, which their users expect.
  if (advice.parameter == "samplers") {
    return !gives_an_order(settings) && (profile.knows_all || profile.name == "llamacpp");
  }
  const ProfileValue* rule = profile.find(advice.parameter);
  const bool profile_says = rule != nullptr && !std::holds_alternative<std::monostate>(rule->standard);
  return !settings.was_given(advice.parameter) && !profile_says && (profile.knows_all || rule != nullptr);
}

}  // namespace

SamplingDefaults read_sampling_defaults(const GgufFile& file) {
  SamplingDefaults defaults;
  for (const KeyRule& rule : kKeys) {
    const MetaValue* found = file.find(rule.key);
    if (found == nullptr) continue;
    Json value = json_of(*found);
    if (const auto checked = check(rule, value); checked.has_value()) {
      defaults.values.push_back({rule.parameter, std::move(value)});
    } else {
      defaults.warnings.push_back(
          fmt::format("{}: {} is not used: {}", printable(file.path()), rule.key, checked.error().message));
    }
  }
  return defaults;
}

Json apply_sampling_defaults(const SamplingDefaults& defaults, Settings& settings) {
  Json applied = Json::object();
  for (const SamplingDefault& advice : defaults.values) {
    const std::string name(advice.parameter);
    if (!is_open(advice, settings)) continue;
    Settings trial = settings;
    if (!trial.set_json(name, advice.value).has_value()) continue;
    // What would not act as it stands (another order, a range of the profile) is left out in silence: nobody asked.
    const auto chain = Chain::create(trial);
    if (!chain.has_value()) continue;
    const auto warnings = chain->warnings();
    const auto is_of_it = [&](const std::string& sentence) { return sentence.starts_with(name + ":"); };
    if (std::any_of(warnings.begin(), warnings.end(), is_of_it)) continue;
    settings = std::move(trial);
    applied[name] = advice.value;
  }
  return applied;
}

}  // namespace plm
