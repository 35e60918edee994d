#include "model/layers/rope.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "base/utf8.h"
#include "model/model_file.h"

namespace plm {
namespace {
constexpr double kTwoPi = 6.283185307179586;
constexpr double kMostScaling = 1e6;
constexpr double kMostBase = 1e15;
constexpr const char* kLongFactors = "rope_factors_long.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr float kMostRadians = 1024;  // per position; sines are exact to 2^40 radians and positions stay below 2^30
}  // namespace

Rope::Rope(std::size_t dimensions, double base) : base_(base), frequencies_(dimensions / 2) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dimensions);
    frequencies_[i] = static_cast<float>(pow_f64(base, exponent));
  }
}

namespace {

Result<std::size_t> read_dimensions(const ModelFile& file, std::size_t head_dim) {
  PLM_TRY_ASSIGN(const std::size_t dimensions, file.integer_or("rope.dimension_count", head_dim, {2, head_dim}));
  if (dimensions % 2 != 0) {
    return file.key_error("rope.dimension_count", fmt::format("{}", dimensions), "even, since pairs are rotated");
  }
  return dimensions;
}

// What rope.scaling.type says; some files leave it to their tensors or to an older key.
Result<std::string> read_kind(const ModelFile& file) {
  const char* standard = file.has_tensor(kLongFactors) || file.has_tensor(kShortFactors) ? "longrope"
                         : file.has_key("rope.scale_linear")                             ? "linear"
                                                                                         : "none";
  PLM_TRY_ASSIGN(std::string kind, file.text_or("rope.scaling.type", standard));
  constexpr std::string_view kKnown[] = {"none", "linear", "yarn", "longrope", "dynamic"};
  if (std::ranges::find(kKnown, kind) == std::end(kKnown)) {
    return file.key_error("rope.scaling.type", "\"" + printable(kind, 80) + "\"",
                          "none, linear, yarn, longrope or dynamic");
  }
  return kind;
}

// Dynamic NTK: the base with which the slowest pair turns as far in the configured context as in the original one.
Result<double> grown_base(const ModelFile& file, double base, std::size_t dimensions, double original) {
  PLM_TRY_ASSIGN(const double factor, file.positive_real("rope.scaling.factor", kMostScaling));
  const double context = std::max(static_cast<double>(file.configured_context()), original);
  const double growth = factor * context / original - (factor - 1);
  if (growth <= 1 || dimensions <= 2) return base;
  return base * pow_f64(growth, static_cast<double>(dimensions) / static_cast<double>(dimensions - 2));
}

}  // namespace

Result<Rope> Rope::from_file(ModelFile& file, std::size_t head_dim, std::size_t trained_context, YarnForm form) {
  PLM_TRY_ASSIGN(const std::size_t dimensions, read_dimensions(file, head_dim));
  PLM_TRY_ASSIGN(double base, file.positive_real_or("rope.freq_base", 10000.0, kMostBase));
  PLM_TRY_ASSIGN(const std::string kind, read_kind(file));
  PLM_TRY_ASSIGN(const std::size_t original,
                 file.integer_or("rope.scaling.original_context_length", trained_context, {1, std::size_t{1} << 30}));
  if (kind == "dynamic") {
    PLM_TRY_ASSIGN(base, grown_base(file, base, dimensions, static_cast<double>(original)));
  }
  Rope rope(dimensions, base);
  if (file.has_tensor("rope_freqs.weight")) PLM_TRY(rope.divide_by(file, "rope_freqs.weight"));
  if (kind == "linear") {
    const bool is_old = !file.has_key("rope.scaling.factor") && file.has_key("rope.scale_linear");
    PLM_TRY_ASSIGN(const double factor,
                   file.positive_real(is_old ? "rope.scale_linear" : "rope.scaling.factor", kMostScaling));
    rope.scale_linear(factor);
  }
  if (kind == "yarn") PLM_TRY(rope.read_yarn(file, original, form));
  if (kind == "longrope") PLM_TRY(rope.read_longrope(file, trained_context, original));
  // The factors of a scaling that was switched off are known, if not used.
  for (const char* name : {kLongFactors, kShortFactors}) {
    if (kind != "longrope" && file.has_tensor(name)) PLM_TRY(file.tensor(name, {1, dimensions / 2}));
  }
  PLM_TRY(rope.check_sane(file));
  return rope;
}

Result<Rope> Rope::unscaled_from_file(const ModelFile& file, std::size_t head_dim, std::string_view base_key,
                                      double base) {
  PLM_TRY_ASSIGN(const std::size_t dimensions, read_dimensions(file, head_dim));
  PLM_TRY_ASSIGN(const double stated, file.positive_real_or(base_key, base, kMostBase));
  Rope rope(dimensions, stated);
  PLM_TRY(rope.check_sane(file));
  return rope;
}

Result<void> Rope::check_sane(const ModelFile& file) const {
  const float fastest = *std::max_element(frequencies_.begin(), frequencies_.end());
  const bool is_sane = std::all_of(frequencies_.begin(), frequencies_.end(),
                                   [](float frequency) { return frequency <= kMostRadians; });  // false for NaN
  if (is_sane) return {};
  return fail(ErrorKind::bad_input,
              "{}: rope.freq_base, rope.scaling and rope_freqs.weight: turn a pair by {} radians per position, "
              "expected at most {}",
              file.path(), fastest, kMostRadians);
}

Result<void> Rope::divide_by(ModelFile& file, const std::string& tensor) {
  const MatrixSize size{.outputs = 1, .inputs = frequencies_.size()};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file.tensor(tensor, size));
  std::vector<float> divisors(size.inputs);
  PLM_TRY_ASSIGN(const TensorBytes data, file.gguf().read(*found.entry));
  found.type->unpack(data.bytes.data(), divisors.data(), divisors.size() / found.type->block_size);
  if (!std::all_of(divisors.begin(), divisors.end(), [](float d) { return d > 0 && std::isfinite(d); })) {
    return fail(ErrorKind::bad_input, "{}: tensor {}: divisors must be finite and above 0", file.path(), tensor);
  }
  scale_by_divisors(divisors);
  return {};
}

Result<void> Rope::read_yarn(const ModelFile& file, std::size_t original_context, YarnForm form) {
  Yarn yarn{.original_context = static_cast<double>(original_context), .form = form};
  PLM_TRY_ASSIGN(yarn.form.truncates, file.boolean_or("rope.scaling.yarn_truncate", form.truncates));
  PLM_TRY_ASSIGN(yarn.factor, file.positive_real("rope.scaling.factor", kMostScaling));
  PLM_TRY_ASSIGN(yarn.beta_fast, file.positive_real_or("rope.scaling.yarn_beta_fast", 32.0, kMostScaling));
  PLM_TRY_ASSIGN(yarn.beta_slow, file.positive_real_or("rope.scaling.yarn_beta_slow", 1.0, kMostScaling));
  PLM_TRY_ASSIGN(yarn.attention_factor, file.positive_real_or("rope.scaling.yarn_attn_factor", 1.0, kMostScaling));
  PLM_TRY_ASSIGN(const double more, file.positive_real_or("rope.scaling.attn_factor", 1.0, kMostScaling));
  PLM_TRY_ASSIGN(yarn.extrapolation, file.share_or("rope.scaling.yarn_ext_factor", 1.0));
  yarn.attention_factor *= more;
  scale_yarn(yarn);
  return {};
}

Result<void> Rope::read_longrope(ModelFile& file, std::size_t trained_context, std::size_t original_context) {
  const std::size_t context = file.configured_context() > 0 ? file.configured_context() : trained_context;
  const bool is_long = context > original_context;
  PLM_TRY(divide_by(file, is_long ? kLongFactors : kShortFactors));
  PLM_TRY(file.tensor(is_long ? kShortFactors : kLongFactors, {1, frequencies_.size()}));  // must be there as well
  double magnitude = 1;
  if (trained_context > original_context && original_context > 1) {
    const auto original = static_cast<double>(original_context);
    magnitude = std::sqrt(1 + log_f64(static_cast<double>(trained_context) / original) / log_f64(original));
  }
  PLM_TRY_ASSIGN(magnitude, file.positive_real_or("rope.scaling.attn_factor", magnitude, kMostScaling));
  magnitude_ = static_cast<float>(magnitude);
  return {};
}

void Rope::scale_linear(double factor) {
  for (float& frequency : frequencies_) frequency = static_cast<float>(frequency / factor);
}

void Rope::scale_by_divisors(std::span<const float> divisors) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) frequencies_[i] /= divisors[i];
}

void Rope::scale_yarn(const Yarn& yarn) {
  const auto size = static_cast<double>(dimensions());
  // The pair that turns `rotations` times within the original context.
  const auto pair_turning = [&](double rotations) {
    return size * log_f64(yarn.original_context / (kTwoPi * rotations)) / (2.0 * log_f64(base_));
  };
  const bool truncates = yarn.form.truncates;
  const double first = pair_turning(yarn.beta_fast), last = pair_turning(yarn.beta_slow);
  const double low = std::clamp(truncates ? std::floor(first) : first, 0.0, size - 1);
  double high = std::clamp(truncates ? std::ceil(last) : last, 0.0, size - 1);
  if (high == low) high += 0.001;  // a step instead of a division by zero, as the reference does
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double kept = (1.0 - ramp) * yarn.extrapolation;
    const double frequency = frequencies_[i];
    frequencies_[i] = static_cast<float>(frequency / yarn.factor * (1.0 - kept) + frequency * kept);
  }
  const bool is_stretched = yarn.form.is_stretched && yarn.factor > 1 && yarn.extrapolation > 0;
  const double stretch = is_stretched ? 0.1 * log_f64(yarn.factor) + 1.0 : 1.0;
  magnitude_ = static_cast<float>(stretch * yarn.attention_factor);
}

void Rope::fill_angles(std::span<const std::uint32_t> positions, std::span<float> angles) const {
  const std::size_t half = frequencies_.size();
  PLM_CHECK(angles.size() == positions.size() * 2 * half);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    float* cosines = angles.data() + row * 2 * half;
    float* sines = cosines + half;
    for (std::size_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(positions[row]) * frequencies_[i];
      const SinCos value = sin_cos_f64(angle);
      cosines[i] = static_cast<float>(value.cos) * magnitude_;
      sines[i] = static_cast<float>(value.sin) * magnitude_;
    }
  }
}

}  // namespace plm
