#include "sampling/golden_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace plm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The golden files' short names.
const std::map<std::string, std::string> kSamplerNames = {{"top_k", "top_k"},
                                                          {"top_p", "top_p"},
                                                          {"min_p", "min_p"},
                                                          {"temp", "temperature"},
                                                          {"temp_ext", "temperature"},
                                                          {"greedy", "greedy"},
                                                          {"typical", "typical_p"},
                                                          {"top_n_sigma", "top_n_sigma"},
                                                          {"xtc", "xtc"},
                                                          {"logit_bias", "logit_bias"},
                                                          {"penalties", "penalties"},
                                                          {"dry", "dry"},
                                                          {"adaptive_p", "adaptive_p"},
                                                          {"mirostat_v1", "mirostat"},
                                                          {"mirostat_v2", "mirostat"}};
// Their parameters, for all samplers or for one.
const std::map<std::string, std::string> kValueNames = {{"k", "top_k"},
                                                        {"t", "temperature"},
                                                        {"delta", "dynatemp_range"},
                                                        {"exponent", "dynatemp_exponent"},
                                                        {"min_keep", "min_keep"},
                                                        {"n", "top_n_sigma"},
                                                        {"probability", "xtc_probability"},
                                                        {"threshold", "xtc_threshold"},
                                                        {"repeat", "repeat_penalty"},
                                                        {"freq", "frequency_penalty"},
                                                        {"present", "presence_penalty"},
                                                        {"multiplier", "dry_multiplier"},
                                                        {"base", "dry_base"},
                                                        {"allowed_length", "dry_allowed_length"},
                                                        {"target", "adaptive_target"},
                                                        {"decay", "adaptive_decay"},
                                                        {"tau", "mirostat_tau"},
                                                        {"eta", "mirostat_eta"},
                                                        {"dry.last_n", "dry_penalty_last_n"},
                                                        {"penalties.last_n", "repeat_last_n"},
                                                        {"breakers", "dry_sequence_breakers"},
                                                        {"bias", "logit_bias"}};
// What is no parameter of a sampler here.
const std::set<std::string> kOther = {"type", "seed", "history", "m", "n_vocab"};

float number(const Json& value) { return value.is_string() ? -kInfinity : value.get<float>(); }

class Fnv1a64 {
 public:
  void add(std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) hash_ = (hash_ ^ (word >> shift & 0xFFU)) * 1099511628211ULL;
  }
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 1469598103934665603ULL;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
  return z ^ z >> 31;
}

// Logits in units of 1/256, by the recipes of the golden data.
std::vector<std::int64_t> generate(const Json& gen, std::int64_t vocab) {
  std::vector<std::int64_t> q(static_cast<std::size_t>(vocab));
  const std::string kind = gen["kind"];
  const std::int64_t sigma = gen.value("sigma256", std::int64_t{0});
  const std::int64_t quantum = gen.value("quantum", std::int64_t{1});
  std::uint64_t state = gen.value("seed", std::uint64_t{0});
  for (std::int64_t i = 0; i < vocab; ++i) {
    if (kind == "gauss") {
      std::int64_t sum = -6 * 65535;
      for (int draw = 0; draw < 3; ++draw) {
        const std::uint64_t bits = splitmix64(state);
        for (int shift = 0; shift < 64; shift += 16) sum += static_cast<std::int64_t>(bits >> shift & 0xFFFFU);
      }
      q[static_cast<std::size_t>(i)] = floor_divide(floor_divide(sum * sigma, 65536), quantum) * quantum;
    } else if (kind == "zipf") {
      const std::int64_t n = i + 1;
      const std::int64_t k = std::bit_width(static_cast<std::uint64_t>(n)) - 1;
      const std::int64_t power = std::int64_t{1} << k;
      const std::int64_t value = -(256 * k + floor_divide((n - power) * 256, power));
      q[static_cast<std::size_t>((i * 7919 + 13) % vocab)] = floor_divide(value * sigma, 256);
    }
  }
  return q;
}

// The value as the case gives it, brought into the range that we allow, as llama.cpp's server does.
Result<void> set_clamped(Settings& settings, const std::string& name, const Json& value) {
  const Parameter& parameter = *settings.find(name);
  if (parameter.type == ParameterType::text) return settings.set_json(name, json_text(value));
  double clamped = std::clamp(value.get<double>(), parameter.min, parameter.max);
  if (name.ends_with("last_n")) clamped = std::max(clamped, 0.0);  // our -1, everything, is off there
  if (parameter.type == ParameterType::integer) return settings.set_json(name, static_cast<std::int64_t>(clamped));
  return settings.set_json(name, clamped);
}

void compare_kept(const Json& test_case, const std::vector<Candidate>& kept) {
  const Json& out = test_case["out"];
  const std::size_t count = out["n"];
  EXPECT_TRUE(kept.size() == count || kept.size() == test_case.value("n_f64", count))
      << kept.size() << " for " << count;
  const bool ids_are_free = out.value("tie_at_cut", false);
  double total = 0;
  for (const Candidate& candidate : kept) total += std::exp(static_cast<double>(candidate.logit - kept[0].logit));
  double shown = 0;
  for (std::size_t i = 0; i < std::min(out["p"].size(), kept.size()); ++i) {
    if (!ids_are_free) {
      EXPECT_EQ(kept[i].id, out["ids"][i].get<int>()) << i;
    }
    const double p = std::exp(static_cast<double>(kept[i].logit - kept[0].logit)) / total;
    EXPECT_NEAR(p, out["p"][i].get<double>(), 2e-6) << i;
    shown += p;
    if (out.contains("logits") && !test_case.value("f32_sensitive", false)) {  // the probabilities agree
      const double logit = out["logits"][i];
      EXPECT_NEAR(kept[i].logit, logit, 2e-5 * std::abs(logit) + (logit == 0 ? 1e-6 : 0)) << i;
    }
  }
  if (out.contains("tail_p") && kept.size() == count) {
    EXPECT_NEAR(1 - shown, out["tail_p"].get<double>(), 2e-6);
  }
  if (out.contains("ids_fnv1a64") && !ids_are_free) {
    std::vector<std::int32_t> ids;
    for (const Candidate& candidate : kept) ids.push_back(candidate.id);
    std::sort(ids.begin(), ids.end());
    Fnv1a64 hash;
    for (const std::int32_t id : ids) hash.add(static_cast<std::uint32_t>(id));
    EXPECT_EQ(hash.hex(), out["ids_fnv1a64"].get<std::string>());
  }
}

}  // namespace

Json read_golden(const std::string& file) {
  std::ifstream stream(std::string(PLM_GOLDEN) + "/sampling/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  auto json = parse_json(text.str(), file);
  if (!json) throw std::runtime_error(json.error().message);
  return *json;
}

std::vector<Json> golden_cases(const std::string& file) {
  const Json golden = read_golden(file);
  std::vector<Json> cases;
  for (const Json& test_case : golden["cases"]) {
    const Json samplers = test_case.value("samplers", Json::array());
    if (std::all_of(samplers.begin(), samplers.end(),
                    [](const Json& sampler) { return kSamplerNames.contains(sampler["type"]); })) {
      cases.push_back(test_case);
    }
  }
  return cases;
}

namespace {

std::vector<float> make_input(const std::string& name) {
  static const Json inputs = read_golden("inputs.json");
  const Json& input = inputs.at(name);
  std::vector<float> logits;
  if (input.contains("logits")) {
    for (const Json& logit : input["logits"]) logits.push_back(number(logit));
    return logits;
  }
  const Json& gen = input["gen"];
  auto q = generate(gen, input["vocab"]);
  for (const auto& [id, added] : gen.value("add256", std::vector<std::pair<std::size_t, std::int64_t>>{})) {
    q[id] += added;
  }
  Fnv1a64 hash;
  for (std::size_t id = 0; id < q.size(); ++id) {
    const bool masked = gen.contains("mask") && id % gen["mask"][0].get<std::size_t>() == gen["mask"][1];
    logits.push_back(masked ? -kInfinity : static_cast<float>(q[id]) / 256.0F);
    hash.add(std::bit_cast<std::uint32_t>(logits.back()));
  }
  EXPECT_EQ(hash.hex(), input["fnv1a64_f32le"].get<std::string>()) << name;
  return logits;
}

}  // namespace

const std::vector<float>& golden_input(const std::string& name) {
  static std::map<std::string, std::vector<float>> made;
  const auto [place, is_new] = made.try_emplace(name);
  if (is_new) place->second = make_input(name);
  return place->second;
}

Settings golden_settings(const Json& golden) {
  const std::string type = golden["type"];
  Settings settings(sampling_parameters());
  for (const auto& [key, value] : golden.items()) {
    if (kOther.contains(key)) continue;
    const auto own = kValueNames.find(type + "." + key);
    const std::string name = key == "p"                 ? kSamplerNames.at(type)
                             : own != kValueNames.end() ? own->second
                                                        : kValueNames.at(key);
    const auto set = set_clamped(settings, name, value);
    EXPECT_TRUE(set) << set.error().message;
  }
  if (type.starts_with("mirostat")) {
    EXPECT_TRUE(settings.set_text("mirostat", type.substr(type.size() - 1)));
  }
  return settings;
}

std::vector<GoldenSampler> golden_samplers(const Json& test_case) {
  std::vector<GoldenSampler> made;
  for (const Json& golden : test_case["samplers"]) {
    Settings settings = golden_settings(golden);
    EXPECT_TRUE(settings.set_text("profile", "llamacpp"));
    for (const SamplerDefinition* definition : samplers()) {
      if (definition->head.name != kSamplerNames.at(golden["type"])) continue;
      made.push_back({definition->create(settings, unknown_texts()).value(),
                      golden.value("history", std::vector<std::int32_t>{})});
    }
  }
  return made;
}

Chain golden_chain(const Json& test_case) {
  Settings settings(sampling_parameters());
  std::string order;
  for (const Json& golden : test_case["samplers"]) {
    const Settings own = golden_settings(golden);
    const Json values = own.as_json();
    for (const auto& [name, value] : values.items()) {
      if (!own.was_given(name)) continue;
      EXPECT_TRUE(settings.set_json(name, value)) << name;
    }
    order += (order.empty() ? "" : ";") + kSamplerNames.at(golden["type"]);
  }
  EXPECT_TRUE(settings.set_text("samplers", order));
  EXPECT_TRUE(settings.set_text("rng", "mt19937"));
  return Chain::create(settings).value();
}

namespace {

const std::vector<float>& input_of(const Json& test_case, const Json& step) {
  return golden_input(step.is_object() && step.contains("input") ? step["input"] : test_case["input"]);
}

}  // namespace

Selection select_golden(Chain& chain, const Json& test_case, const Json& step) {
  static Candidates workspace;
  const std::uint32_t seed = test_case.contains("seed") ? test_case["seed"].get<std::uint32_t>()
                                                        : test_case["samplers"].back()["seed"].get<std::uint32_t>();
  const auto cell = static_cast<std::uint32_t>(chain.history().tokens.size());
  const auto selection = chain.select(input_of(test_case, step), {.seed = seed, .cell = cell}, workspace);
  EXPECT_TRUE(selection) << selection.error().message;
  chain.accept(selection->id);
  return *selection;
}

void expect_choice(const Selection& selection, int id, const Json& test_case, const Json& step) {
  const std::vector<float>& logits = input_of(test_case, step);
  EXPECT_EQ(logits[static_cast<std::size_t>(selection.id)], logits[static_cast<std::size_t>(id)])
      << "token " << selection.id << ", expected " << id;
}

void apply_golden(const std::vector<GoldenSampler>& samplers, Candidates& candidates) {
  for (const auto& [sampler, tokens] : samplers) {
    const History history{tokens, tokens.size()};
    const auto applied = sampler->apply(candidates, {.place = {}, .history = history});
    ASSERT_TRUE(applied) << applied.error().message;
  }
}

std::vector<Candidate> in_canonical_order(const Candidates& candidates) {
  std::vector<Candidate> sorted;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates.logits()[i] != -kInfinity) sorted.push_back({candidates.id(i), candidates.logits()[i]});
  }
  std::sort(sorted.begin(), sorted.end(), precedes);
  return sorted;
}

void expect_golden(const std::string& file, std::size_t count, const std::set<std::string>& differing) {
  std::size_t compared = 0;
  for (const Json& test_case : golden_cases(file)) {
    if (!test_case.contains("out") || differing.contains(test_case["id"].get<std::string>())) continue;
    ++compared;
    SCOPED_TRACE(test_case["id"].get<std::string>());
    const std::vector<float> logits = golden_input(test_case["input"]);
    Candidates candidates;
    ASSERT_TRUE(candidates.reset(logits));
    const auto samplers = golden_samplers(test_case);
    if (test_case["out"]["n"] == 0) {  // nothing legal is left, which is an error here
      const auto applied = samplers.at(0).sampler->apply(candidates, {.place = {}, .history = {}});
      ASSERT_FALSE(applied);
      EXPECT_EQ(applied.error().kind, ErrorKind::unsatisfiable);
      continue;
    }
    apply_golden(samplers, candidates);
    compare_kept(test_case, in_canonical_order(candidates));
  }
  EXPECT_EQ(compared, count);
}

void expect_golden_steps(const std::string& file, std::size_t count) {
  std::size_t compared = 0;
  for (const Json& test_case : golden_cases(file)) {
    if (!test_case.contains("steps")) continue;
    ++compared;
    SCOPED_TRACE(test_case["id"].get<std::string>());
    const auto samplers = golden_samplers(test_case);
    ASSERT_EQ(samplers.size(), 1U);
    const std::vector<float> logits = golden_input(test_case["input"]);
    History history;
    for (const Json& step : test_case["steps"]) {
      history.tokens.push_back(step["accept"]);
      Candidates candidates;
      ASSERT_TRUE(candidates.reset(logits));
      ASSERT_TRUE(samplers[0].sampler->apply(candidates, {.place = {}, .history = history}));
      for (std::size_t id = 0; id < logits.size(); ++id) {
        const float expected = number(step["logits_by_id"][id]);
        EXPECT_NEAR(candidates.logits()[id], expected, 2e-5F * std::max(1.0F, std::abs(expected))) << id;
      }
    }
  }
  EXPECT_EQ(compared, count);
}

Chain chain_of(const std::vector<std::pair<std::string, std::string>>& values) {
  Settings settings(sampling_parameters());
  for (const auto& [name, value] : values) {
    const auto set = settings.set_text(name, value);
    EXPECT_TRUE(set) << set.error().message;
  }
  return Chain::create(settings).value();
}

}  // namespace plm
