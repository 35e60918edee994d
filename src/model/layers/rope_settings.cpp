#include "model/layers/rope_settings.h"

#include <cmath>

#include "base/portable_math.h"

namespace plm {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kMostBase = 1e15;
constexpr double kMostFactor = 1e6;
constexpr ConfigReader::IntegerRange kContexts{1, 1U << 30};

struct RopeSections {
  std::optional<ConfigReader> scaling;
  std::string_view name;  // of the section
  double base = 0;
};

// Where kinds of layers have positions of their own, those that see all.
Result<RopeSections> find_sections(const ConfigReader& config, double standard_base) {
  RopeSections found;
  PLM_TRY_ASSIGN(found.base, config.positive_real_or("rope_theta", standard_base, kMostBase));
  found.name = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  PLM_TRY_ASSIGN(found.scaling, config.section(found.name));
  if (found.scaling && found.scaling->has("full_attention")) {
    PLM_TRY_ASSIGN(found.scaling, found.scaling->section("full_attention"));
  }
  if (found.scaling) {
    PLM_TRY_ASSIGN(found.base, found.scaling->positive_real_or("rope_theta", found.base, kMostBase));
  }
  return found;
}

// DeepSeek's YaRN: mscale_all_dim stretches scores in place of the rotated numbers, which mscale may stretch besides.
Result<void> add_yarn_scores(CheckpointDraft& draft, const ConfigReader& scaling) {
  if (!scaling.has("mscale") || !scaling.has("mscale_all_dim")) return {};
  PLM_TRY_ASSIGN(const double all, scaling.positive_real("mscale_all_dim", kMostFactor));
  PLM_TRY_ASSIGN(const double some, scaling.positive_real("mscale", kMostFactor));
  PLM_TRY_ASSIGN(const double factor, scaling.positive_real("factor", kMostFactor));
  draft.keys.add_f32(draft.key("rope.scaling.yarn_log_multiplier"), static_cast<float>(0.1 * all));
  const auto stretch = [&](double scale) { return factor > 1 ? 0.1 * scale * log_f64(factor) + 1 : 1; };
  if (some != all && !scaling.has("attention_factor")) {
    draft.keys.add_f32(draft.key("rope.scaling.yarn_attn_factor"), static_cast<float>(stretch(some) / stretch(all)));
  }
  return {};
}

// The factor on cosine and sine, as transformers finds it: stated, or from the factor of the stretch.
Result<double> yarn_magnitude(const ConfigReader& scaling, double factor, const RopeDefaults& defaults) {
  const auto magnitude = [factor](double scale) { return factor > 1 ? 0.1 * scale * log_f64(factor) + 1 : 1.0; };
  if (scaling.has("attention_factor")) return scaling.positive_real("attention_factor", kMostFactor);
  const bool is_stated = scaling.has("mscale") && scaling.has("mscale_all_dim") && !defaults.stretches_scores;
  if (!is_stated) return magnitude(1);
  PLM_TRY_ASSIGN(const double scale, scaling.positive_real("mscale", kMostFactor));
  PLM_TRY_ASSIGN(const double all, scaling.positive_real("mscale_all_dim", kMostFactor));
  return magnitude(scale) / magnitude(all);
}

Result<void> add_yarn(CheckpointDraft& draft, const ConfigReader& scaling, const RopeDefaults& defaults) {
  PLM_TRY_ASSIGN(const double factor, scaling.positive_real("factor", kMostFactor));
  PLM_TRY_ASSIGN(const std::uint64_t context, draft.config.integer("max_position_embeddings", kContexts));
  PLM_TRY_ASSIGN(const std::uint64_t original,
                 scaling.integer_or("original_max_position_embeddings", context, kContexts));
  draft.keys.add_u32(draft.key("rope.scaling.original_context_length"), static_cast<std::uint32_t>(original));
  // GGUF's factor comes on top of 0.1 ln(factor) + 1, that of transformers stands in its place.
  const double standard = factor > 1 ? 0.1 * log_f64(factor) + 1 : 1.0;
  PLM_TRY_ASSIGN(const double magnitude, yarn_magnitude(scaling, factor, defaults));
  if (magnitude != standard) {
    draft.keys.add_f32(draft.key("rope.scaling.yarn_attn_factor"), static_cast<float>(magnitude / standard));
  }
  constexpr std::pair<std::string_view, std::string_view> kReals[] = {{"beta_fast", "rope.scaling.yarn_beta_fast"},
                                                                      {"beta_slow", "rope.scaling.yarn_beta_slow"}};
  for (const auto& [from, to] : kReals) {
    if (!scaling.has(from)) continue;
    PLM_TRY_ASSIGN(const double value, scaling.positive_real(from, kMostFactor));
    draft.keys.add_f32(draft.key(to), static_cast<float>(value));
  }
  if (scaling.has("truncate")) {
    PLM_TRY_ASSIGN(const bool truncates, scaling.boolean_or("truncate", true));
    draft.keys.add_boolean(draft.key("rope.scaling.yarn_truncate"), truncates);
  }
  return defaults.stretches_scores ? add_yarn_scores(draft, scaling) : Result<void>();
}

// Two lists of divisors, for texts up to the original context and beyond it.
Result<void> add_longrope(CheckpointDraft& draft, const ConfigReader& scaling, std::uint64_t rotated) {
  for (const char* odd : {"short_mscale", "long_mscale"}) {
    if (scaling.has(odd)) return scaling.error(odd, "absent; this version knows one factor for both");
  }
  PLM_TRY_ASSIGN(const std::uint64_t context, draft.config.integer("max_position_embeddings", kContexts));
  PLM_TRY_ASSIGN(const std::uint64_t outside,
                 draft.config.integer_or("original_max_position_embeddings", context, kContexts));
  PLM_TRY_ASSIGN(const std::uint64_t original,
                 scaling.integer_or("original_max_position_embeddings", outside, kContexts));
  const double ratio = static_cast<double>(context) / static_cast<double>(original);
  PLM_TRY_ASSIGN(const double factor, scaling.positive_real_or("factor", ratio, kMostFactor));
  const bool is_stretched = factor > 1 && original > 1;
  const double standard = is_stretched ? std::sqrt(1 + log_f64(factor) / log_f64(static_cast<double>(original))) : 1.0;
  PLM_TRY_ASSIGN(const double magnitude, scaling.positive_real_or("attention_factor", standard, kMostFactor));
  draft.keys.add_u32(draft.key("rope.scaling.original_context_length"), static_cast<std::uint32_t>(original));
  draft.keys.add_f32(draft.key("rope.scaling.attn_factor"), static_cast<float>(magnitude));
  for (const auto& [from, to] :
       {std::pair{"long_factor", "rope_factors_long.weight"}, std::pair{"short_factor", "rope_factors_short.weight"}}) {
    PLM_TRY_ASSIGN(const auto factors, scaling.positive_reals(from, kMostFactor));
    if (factors.size() != rotated / 2) return scaling.error(from, fmt::format("{} numbers", rotated / 2));
    draft.extra.push_back({to, {factors.begin(), factors.end()}});
  }
  return {};
}

// Llama 3 divides slow frequencies by the factor, leaves fast ones and blends between; in float32, as it was trained.
Result<void> add_llama3_divisors(CheckpointDraft& draft, const RopeSections& rope, std::uint64_t head_dim) {
  PLM_TRY_ASSIGN(const double factor, rope.scaling->positive_real("factor", kMostFactor));
  PLM_TRY_ASSIGN(const double low, rope.scaling->positive_real_or("low_freq_factor", 1, kMostFactor));
  PLM_TRY_ASSIGN(const double high, rope.scaling->positive_real_or("high_freq_factor", 4, kMostFactor));
  PLM_TRY_ASSIGN(const std::uint64_t original,
                 rope.scaling->integer_or("original_max_position_embeddings", 8192, kContexts));
  if (!(low < high)) return rope.scaling->error("high_freq_factor", fmt::format("above low_freq_factor = {}", low));
  const auto context = static_cast<double>(original);
  std::vector<float> divisors;
  for (std::uint64_t i = 0; i < head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const auto frequency = static_cast<float>(1.0 / pow_f64(rope.base, exponent));
    const double wave = kTwoPi / frequency;
    const double blend = (context / wave - low) / (high - low);
    const double divisor = wave < context / high  ? 1
                           : wave > context / low ? factor
                                                  : 1 / ((1 - blend) / factor + blend);
    divisors.push_back(static_cast<float>(divisor));
  }
  draft.extra.push_back({"rope_freqs.weight", std::move(divisors)});
  return {};
}

}  // namespace

Result<void> add_rope_settings(CheckpointDraft& draft, std::uint64_t head_dim, RopeDefaults defaults) {
  PLM_TRY_ASSIGN(const RopeSections rope, find_sections(draft.config, defaults.base));
  draft.keys.add_f32(draft.key("rope.freq_base"), static_cast<float>(rope.base));
  const ConfigReader& share_in =
      rope.scaling && rope.scaling->has("partial_rotary_factor") ? *rope.scaling : draft.config;
  PLM_TRY_ASSIGN(const double share, share_in.positive_real_or("partial_rotary_factor", defaults.share, 1));
  if (share != defaults.share && !defaults.may_be_partial) {
    return share_in.error("partial_rotary_factor", fmt::format("{}; other shares are not known here", defaults.share));
  }
  const auto rotated = static_cast<std::uint64_t>(static_cast<double>(head_dim) * share / defaults.share);
  if (rotated < 2 || rotated % 2 != 0) {
    return share_in.error("partial_rotary_factor", fmt::format("a share that leaves an even number of {}", head_dim));
  }
  if (rotated != head_dim) draft.keys.add_u32(draft.key("rope.dimension_count"), static_cast<std::uint32_t>(rotated));
  if (!rope.scaling) return {};
  const std::string_view kind_key = rope.scaling->has("rope_type") ? "rope_type" : "type";
  PLM_TRY_ASSIGN(const std::string kind, rope.scaling->text_or(kind_key, "default"));
  if (kind == "default") return {};
  if (kind == "llama3") return add_llama3_divisors(draft, rope, rotated);
  if (kind == "longrope" || kind == "su") {
    draft.keys.add_string(draft.key("rope.scaling.type"), "longrope");
    return add_longrope(draft, *rope.scaling, rotated);
  }
  if (kind != "linear" && kind != "yarn" && kind != "dynamic") {
    return rope.scaling->error(
        kind_key, "default, linear, llama3, yarn, longrope or dynamic; this version knows no other scaling");
  }
  PLM_TRY_ASSIGN(const double factor, rope.scaling->positive_real("factor", kMostFactor));
  draft.keys.add_string(draft.key("rope.scaling.type"), kind);
  draft.keys.add_f32(draft.key("rope.scaling.factor"), static_cast<float>(factor));
  return kind == "yarn" ? add_yarn(draft, *rope.scaling, defaults) : Result<void>();
}

}  // namespace plm
