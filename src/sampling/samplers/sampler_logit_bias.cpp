// logit_bias: numbers added to the logits of chosen tokens, or tokens forbidden (OpenAI's API).
//
// As text "15=1.5, 7=-inf", llama.cpp's "15+1.5, 7-inf", or JSON as in requests: [[15, 1.5], [7, false]] or
// {"15": 1.5, "7": false}; in JSON a text stands for each of its tokens: [["hello", -2]]. -inf and false forbid.
// Several entries of one token add up; in the llamacpp profile, as there, only as long as the candidates are the whole
// vocabulary in its order, and only the first acts on a token that stands elsewhere. Ids that are no candidates do
// nothing.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/json.h"
#include "base/utf8.h"
#include "sampling/sampler.h"

namespace plm {
namespace {

constexpr std::size_t kMostBiases = 65'536;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Bias {
  double sum, first;  // of its entries
};
using Biases = std::map<std::int32_t, Bias>;

class LogitBias : public Sampler {
 public:
  LogitBias(const Biases& biases, bool first_acts_elsewhere) : first_acts_elsewhere_(first_acts_elsewhere) {
    for (const auto& [id, bias] : biases) {
      ids_.push_back(id);
      biases_.push_back(bias);
    }
  }
  bool is_neutral() const override { return ids_.empty(); }
  Result<void> apply(Candidates& candidates, const SampleContext& /*context*/) const override {
    const std::vector<bool> all_act = where_all_act(candidates);
    return candidates.adjust(ids_, [&](std::size_t k, float logit) {
      return within_float(static_cast<double>(logit) + (all_act[k] ? biases_[k].sum : biases_[k].first));
    });
  }

 private:
  // Of which tokens every entry acts.
  [[nodiscard]] std::vector<bool> where_all_act(const Candidates& candidates) const {
    const bool everywhere = !first_acts_elsewhere_ || candidates.is_whole();
    std::vector<bool> all_act(ids_.size(), everywhere);
    for (std::size_t i = 0; i < candidates.size() && !everywhere; ++i) {
      if (static_cast<std::size_t>(candidates.id(i)) != i) continue;
      const auto found = std::lower_bound(ids_.begin(), ids_.end(), candidates.id(i));
      if (found != ids_.end() && *found == candidates.id(i)) {
        all_act[static_cast<std::size_t>(found - ids_.begin())] = true;
      }
    }
    return all_act;
  }

  std::vector<std::int32_t> ids_;  // ascending
  std::vector<Bias> biases_;
  bool first_acts_elsewhere_;
};

tl::unexpected<Error> not_a_bias(std::string_view found) {
  return fail(ErrorKind::usage, "logit_bias: found \"{}\", expected a token id and a number, -inf or false: 15=1.5",
              printable(found, 80));
}

Result<void> add(Biases& biases, std::int64_t id, double bias) {
  if (id < std::numeric_limits<std::int32_t>::min() || id > std::numeric_limits<std::int32_t>::max()) return {};
  if (biases.size() == kMostBiases) return fail(ErrorKind::usage, "logit_bias: more than {} tokens", kMostBiases);
  double& sum = biases.try_emplace(static_cast<std::int32_t>(id), Bias{.sum = 0, .first = bias}).first->second.sum;
  sum = std::max(sum + bias, bias == -kInfinity || sum == -kInfinity ? -kInfinity : -1e300);
  return {};
}

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

Result<void> add_text(Biases& biases, std::string_view item) {
  const std::size_t sign = item.find_first_of("=+-", 1);
  std::int64_t id = 0;
  double bias = 0;
  if (sign == std::string_view::npos || !parse_whole(item.substr(0, sign), id)) return not_a_bias(item);
  const std::string_view value = item.substr(item[sign] == '-' ? sign : sign + 1);
  if (value == "false") return add(biases, id, -kInfinity);
  if (!parse_whole(value, bias) || std::isnan(bias) || bias == kInfinity) return not_a_bias(item);
  return add(biases, id, bias);
}

Result<void> add_json(Biases& biases, std::int64_t id, const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? Result<void>{} : add(biases, id, -kInfinity);
  if (value == "-inf") return add(biases, id, -kInfinity);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return not_a_bias(json_text(value));
  return add(biases, id, value.get<double>());
}

// The tokens that an entry is about; none: it is no entry.
std::vector<std::int64_t> tokens_of(const Json& key, const TokenTexts& texts) {
  if (key.is_number_integer()) return {key.get<std::int64_t>()};
  if (!key.is_string()) return {};
  const std::string text = key.get<std::string>();
  std::int64_t id = 0;
  if (parse_whole(std::string_view(text), id)) return {id};
  const auto ids = texts.encode(text);
  return {ids.begin(), ids.end()};
}

Result<Biases> parse(const std::string& text, const TokenTexts& texts) {
  Biases biases;
  if (!text.starts_with('[') && !text.starts_with('{')) {
    for (const std::string_view item : split_list(text)) PLM_TRY(add_text(biases, item));
    return biases;
  }
  const auto json = parse_json(text, "logit_bias", {.bytes = 8U << 20, .keys = kMostBiases});
  if (!json) return fail(ErrorKind::usage, "{}", json.error().message);
  for (const auto& [key, entry] : json->items()) {
    const bool is_pair = json->is_object() || (entry.is_array() && entry.size() == 2);
    const Json& value = json->is_object() || !is_pair ? entry : entry[1];
    const auto ids =
        !is_pair ? std::vector<std::int64_t>() : tokens_of(json->is_object() ? Json(key) : entry[0], texts);
    if (ids.empty()) return not_a_bias(json->is_object() ? key : json_text(entry));
    for (const std::int64_t id : ids) PLM_TRY(add_json(biases, id, value));
  }
  return biases;
}

constexpr Parameter kParameters[] = {{
    .name = "logit_bias",
    .summary = "numbers added to the logits of tokens: 15=1.5,7=-inf; in JSON also texts: [[\"hello\",-2]]",
    .type = ParameterType::text,
    .standard = std::string_view(""),
    .neutral = std::string_view(""),
    .unit = "ID=NUMBER",
}};

constexpr ControlNote kNotes[] = {
    {"logit_bias", "the named tokens are likelier, all others less likely; -inf: support down by them",
     "openai: logit_bias from -100 to 100; koboldcpp: logit_bias, custom_token_bans; llama.cpp: false forbids; vllm: "
     "logit_bias"},
};

}  // namespace

extern const SamplerDefinition sampler_logit_bias;
constinit const SamplerDefinition sampler_logit_bias = {
    .head = {.name = "logit_bias",
             .aliases = "bias",
             .summary = "adds to the logits of chosen tokens, or forbids them",
             .source = "datasheet part V; OpenAI API",
             .parameters = kParameters},
    .rule = "z' = z + bias of the token; -inf forbids it",
    .notes = kNotes,
    .create = [](const Settings& settings, const TokenTexts& texts) -> Result<std::unique_ptr<Sampler>> {
      PLM_TRY_ASSIGN(const Biases biases, parse(settings.text("logit_bias"), texts));
      return std::make_unique<LogitBias>(biases, settings.text("profile") == "llamacpp");
    },
};

}  // namespace plm
