#include "sampling/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "sampling/order.h"
#include "sampling/profile.h"

namespace plm {

/// One sampler and where its numbers lie in the chain's.
struct Chain::Step {
  std::string_view name;
  std::unique_ptr<const Sampler> sampler;
  std::size_t state_begin, state_size;
};

struct Chain::Policy {
  std::vector<Step> steps;
  // The numbers of all steps; with mt19937 then the words that each step and, last, the draw has taken.
  std::vector<double> initial_state;
  bool uses_mersenne = false;
  bool draw_is_governed = false;
  Json description = Json::array();
  std::vector<std::string> warnings;
};

namespace {

constexpr Parameter kChainParameters[] = {
    {
        .name = "samplers",
        .summary = "names of the samplers in their order, separated by semicolons; the draw follows",
        .type = ParameterType::text,
        .standard = std::string_view("penalties;dry;top_n_sigma;top_k;top_a;tfs;typical_p;top_p;min_p;xtc;temperature;"
                                     "smoothing;adaptive_p"),
        .unit = "NAMES",
    },
    {
        .name = "sampler_seq",
        .aliases = "sampling_seq",
        .summary = "the order in llama.cpp's letters: edskypmxt",
        .type = ParameterType::text,
        .unit = "LETTERS",
    },
    {
        .name = "sampler_order",
        .summary = "the order in KoboldCpp's numbers: 6,0,1,3,4,2,5",
        .type = ParameterType::text,
        .unit = "NUMBERS",
    },
    {
        .name = "profile",
        .summary = "order, defaults and ranges as this back end has them",
        .type = ParameterType::choice,
        .standard = std::string_view("plm"),
        .choices = kProfileNames,
    },
    {
        .name = "rng",
        .summary = "random numbers: by place (philox), or llama.cpp's stream (mt19937)",
        .type = ParameterType::choice,
        .standard = std::string_view("philox"),
        .choices = "philox, mt19937",
    },
};

Json describe_sampler(const Definition& head, const Settings& settings) {
  const Json values = settings.as_json();
  Json description = {{"name", head.name}};
  for (const Parameter& parameter : head.parameters) {
    const std::string name(parameter.name);
    if (values.contains(name)) description[name] = values.at(name);
  }
  return description;
}

bool names(std::span<const OrderItem> order, const SamplerDefinition* definition) {
  return std::any_of(order.begin(), order.end(), [&](const OrderItem& item) { return item.definition == definition; });
}

Result<std::vector<OrderItem>> requested_order(const Profile& profile, const Settings& given,
                                               UnknownSamplers& unknown) {
  const bool by_names = given.was_given("samplers");
  const bool by_letters = given.was_given("sampler_seq");
  const bool by_numbers = given.was_given("sampler_order");
  if (by_names + by_letters + by_numbers > 1) {
    return fail(ErrorKind::usage, "more than one order; give one of samplers, sampler_seq and sampler_order");
  }
  if (by_letters) return order_of_letters(given.text("sampler_seq"), unknown);
  if (by_numbers) return order_of_numbers(given.text("sampler_order"));
  return order_of_names(by_names ? given.text("samplers") : std::string(profile.order), unknown);
}

Result<std::vector<OrderItem>> whole_order(const Profile& profile, const Settings& given, bool mirostat_is_on,
                                           std::vector<std::string>& warnings) {
  UnknownSamplers unknown{.are_skipped = profile.skips_unknown};
  const bool is_given =
      given.was_given("samplers") || given.was_given("sampler_seq") || given.was_given("sampler_order");
  PLM_TRY_ASSIGN(auto order, requested_order(profile, given, unknown));
  for (const std::string& name : unknown.skipped) {
    warnings.push_back(fmt::format("samplers: \"{}\" is not known and was passed over", name));
  }
  UnknownSamplers none;
  const auto named_by_profile = [&](std::string_view list) { return order_of_names(list, none).value(); };
  const auto names_mirostat = std::any_of(
      order.begin(), order.end(), [](const OrderItem& item) { return item.definition->head.name == "mirostat"; });
  if (mirostat_is_on && !names_mirostat && (!is_given || !profile.knows_all)) {
    if (is_given) warnings.emplace_back("samplers: the order is not used, because mirostat replaces the chain");
    return named_by_profile(profile.with_mirostat);
  }
  if (is_given && profile.order_is_fixed) {
    warnings.push_back(
        fmt::format("samplers: the order cannot be changed in the {} profile and was ignored", profile.name));
    order = named_by_profile(profile.order);
  }
  std::vector<OrderItem> whole;
  for (const OrderItem& item : named_by_profile(profile.before)) {
    if (!item.value.empty() || !names(order, item.definition)) whole.push_back(item);
  }
  whole.insert(whole.end(), order.begin(), order.end());
  for (const OrderItem& item : named_by_profile(profile.after)) {
    if (!names(order, item.definition)) whole.push_back(item);
  }
  return whole;
}

// A control that was turned on by hand and acts nowhere.
void warn_of_idle_controls(const Settings& effective, const Settings& given, std::span<const OrderItem> order,
                           std::vector<std::string>& warnings) {
  for (const SamplerDefinition* definition : samplers()) {
    if (names(order, definition) || definition->head.parameters.empty()) continue;
    for (const Parameter& parameter : definition->head.parameters) {
      if (parameter.name == kMinKeep.name || !given.was_given(parameter.name)) continue;
      const auto sampler = definition->create(effective, unknown_texts());
      if (sampler.has_value() && (*sampler)->is_neutral()) continue;
      warnings.push_back(
          fmt::format("{}: has no effect, because the order does not name {}", parameter.name, definition->head.name));
    }
  }
}

}  // namespace

std::span<const Parameter> sampling_parameters() {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> all(std::begin(kChainParameters), std::end(kChainParameters));
    for (const SamplerDefinition* definition : samplers()) {
      for (const Parameter& parameter : definition->head.parameters) {
        const bool is_new = std::none_of(all.begin(), all.end(),
                                         [&](const Parameter& earlier) { return earlier.name == parameter.name; });
        if (is_new) all.push_back(parameter);
      }
    }
    return all;
  }();
  return parameters;
}

Result<Chain> Chain::create(const Settings& settings, const TokenTexts& texts) {
  auto policy = std::make_shared<Policy>();
  const Profile& profile = find_profile(settings.text("profile"));
  PLM_TRY_ASSIGN(const Settings effective, effective_settings(profile, settings, policy->warnings));
  PLM_TRY_ASSIGN(auto order, whole_order(profile, settings, effective.integer("mirostat") > 0, policy->warnings));
  warn_of_idle_controls(effective, settings, order, policy->warnings);
  policy->uses_mersenne = effective.text("rng") == "mt19937";
  for (const bool governing : {false, true}) {  // those that govern the draw come last
    for (const OrderItem& item : order) {
      Settings values = effective;
      if (!item.value.empty()) PLM_TRY(values.set_text(item.definition->head.parameters.front().name, item.value));
      PLM_TRY_ASSIGN(std::unique_ptr<const Sampler> sampler, item.definition->create(values, texts));
      if (sampler->is_neutral() || sampler->governs_draw() != governing) continue;
      const auto state = sampler->initial_state();
      policy->description.push_back(describe_sampler(item.definition->head, values));
      policy->steps.push_back(
          {item.definition->head.name, std::move(sampler), policy->initial_state.size(), state.size()});
      policy->initial_state.insert(policy->initial_state.end(), state.begin(), state.end());
      policy->draw_is_governed = governing;
    }
  }
  const std::size_t streams = policy->uses_mersenne ? policy->steps.size() + 1 : 0;
  policy->initial_state.resize(policy->initial_state.size() + streams);
  Chain chain;
  chain.streams_.resize(streams);
  chain.policy_ = std::move(policy);
  chain.begin({});
  return chain;
}

const Json& Chain::describe() const { return policy_->description; }
std::span<const std::string> Chain::warnings() const { return policy_->warnings; }
std::size_t Chain::state_size() const { return policy_->initial_state.size(); }
std::span<const double> Chain::state() const { return std::span(states_).last(state_size()); }

void Chain::begin(std::span<const std::int32_t> prompt) {
  history_ = {{prompt.begin(), prompt.end()}, prompt.size()};
  states_ = policy_->initial_state;
  proposed_ = kNone;
}

MersenneNumbers Chain::numbers(std::size_t stream, const DrawPlace& place) {
  const std::size_t first = proposed_state_.size() - streams_.size();
  return {.stream = streams_[stream],
          .words = proposed_state_[first + stream],
          .seed = static_cast<std::uint32_t>(place.seed)};
}

SampleContext Chain::context(std::size_t step, const DrawPlace& place) {
  const Step& at = policy_->steps[step];
  SampleContext context{
      .place = place, .history = history_, .state = std::span(proposed_state_).subspan(at.state_begin, at.state_size)};
  if (policy_->uses_mersenne) context.mersenne.emplace(numbers(step, place));
  return context;
}

Result<Selection> Chain::select(std::span<const float> logits, const DrawPlace& place, Candidates& workspace,
                                ChainObserver* observer) {
  const auto at_position = [&](const Error& error) { return error.within(fmt::format("position {}", place.cell)); };
  proposed_ = kNone;
  PLM_TRY(workspace.reset(logits).map_error(at_position));
  proposed_state_.assign(state().begin(), state().end());
  if (observer != nullptr) observer->begins(workspace);
  PLM_TRY(apply(workspace, place, observer).map_error(at_position));
  double random = 0;
  const Candidates::Pick pick = draw(workspace, place, random);
  for (std::size_t i = 0; i < policy_->steps.size(); ++i) {
    policy_->steps[i].sampler->learn(workspace, pick, context(i, place));
  }
  proposed_ = pick.id;
  return Selection{.id = pick.id,
                   .probability = pick.probability,
                   .log_probability = pick.log_probability,
                   .candidates_left = workspace.support(),
                   .random = random};
}

Result<void> Chain::apply(Candidates& candidates, const DrawPlace& place, ChainObserver* observer) {
  for (std::size_t i = 0; i < policy_->steps.size(); ++i) {
    const Step& step = policy_->steps[i];
    PLM_TRY(step.sampler->apply(candidates, context(i, place)).map_error([&](const Error& error) {
      return error.within(fmt::format("sampler {}", step.name));
    }));
    if (policy_->uses_mersenne) {
      if (step.sampler->llama_order() == LlamaOrder::canonical) candidates.sort();
      if (step.sampler->llama_order() == LlamaOrder::by_typicality) candidates.sort_by_typicality();
    }
    if (observer != nullptr)
      observer->applied(step.name, state().subspan(step.state_begin, step.state_size), candidates);
  }
  return {};
}

Candidates::Pick Chain::draw(Candidates& candidates, const DrawPlace& place, double& random) {
  if (!policy_->uses_mersenne) {
    random = uniform(place);
    return candidates.pick(random);
  }
  // llama.cpp's own draw spends a number even on a single candidate, that of its controllers does not.
  if (!policy_->draw_is_governed || candidates.size() > 1) random = numbers(streams_.size() - 1, place).uniform();
  return candidates.pick_in_memory_order(random);
}

void Chain::accept(std::int32_t id) {
  const auto next =
      id == proposed_ ? std::vector<double>(proposed_state_) : std::vector<double>(state().begin(), state().end());
  states_.insert(states_.end(), next.begin(), next.end());
  history_.tokens.push_back(id);
  proposed_ = kNone;
}

void Chain::roll_back(std::size_t length) {
  PLM_CHECK(length >= history_.prompt_length && length <= history_.tokens.size());
  history_.tokens.resize(length);
  states_.resize((history_.written() + 1) * state_size());
  proposed_ = kNone;
}

Json Chain::save() const {
  return {{"samplers", describe()},
          {"rng", policy_->uses_mersenne ? "mt19937" : "philox"},
          {"prompt_length", history_.prompt_length},
          {"tokens", history_.tokens},
          {"states", states_}};
}

Result<void> Chain::restore(const Json& saved) {
  const auto refuse = [](std::string_view what) {
    return fail(ErrorKind::bad_input, "state of a chain: {}; it must be restored as it was saved", what);
  };
  if (!saved.is_object()) return refuse("no object");
  const Json none;
  const auto part = [&](const char* key) -> const Json& { return saved.contains(key) ? saved.at(key) : none; };
  if (part("samplers") != describe()) return refuse("of other samplers or values");
  if (part("rng") != (policy_->uses_mersenne ? "mt19937" : "philox")) return refuse("of other random numbers");
  const Json& tokens = part("tokens");
  const Json& states = part("states");
  const Json& prompt_length = part("prompt_length");
  if (!tokens.is_array() || !states.is_array() || !prompt_length.is_number_unsigned()) return refuse("parts missing");
  History history{{}, prompt_length.get<std::size_t>()};
  for (const Json& token : tokens) {
    if (!token.is_number_integer() || token < 0 || token > std::numeric_limits<std::int32_t>::max()) {
      return refuse("a token that is no id");
    }
    history.tokens.push_back(token.get<std::int32_t>());
  }
  if (history.prompt_length > history.tokens.size()) return refuse("a prompt longer than the tokens");
  if (states.size() != (history.written() + 1) * state_size()) return refuse("numbers missing or too many");
  std::vector<double> numbers;
  for (const Json& number : states) {
    if (!number.is_number() || !std::isfinite(number.get<double>())) return refuse("a number that is none");
    numbers.push_back(number.get<double>());
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {  // a stream is walked, so a false count could take for ever
    if (i % state_size() < state_size() - streams_.size()) continue;
    const double most = 2 * static_cast<double>(i / state_size());
    if (numbers[i] < 0 || numbers[i] > most || numbers[i] != std::floor(numbers[i])) return refuse("a false count");
  }
  history_ = std::move(history);
  states_ = std::move(numbers);
  proposed_ = kNone;
  return {};
}

bool Chain::is_greedy() const {
  // The first sampler that does not merely keep the best decides: after `alone` there is nothing left to change.
  const auto& steps = policy_->steps;
  const auto decisive = std::find_if(steps.begin(), steps.end(), [](const Step& step) {
    return step.sampler->effect_on_best() != EffectOnBest::kept;
  });
  return decisive != steps.end() && decisive->sampler->effect_on_best() == EffectOnBest::alone;
}

}  // namespace plm
