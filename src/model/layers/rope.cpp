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
constexpr float kMostRadians = 1024;  // per position; sines are exact to 2^40 radians and positions stay below 2^30
}  // namespace

Rope::Rope(std::size_t dimensions, double base) : base_(base), frequencies_(dimensions / 2) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dimensions);
    frequencies_[i] = static_cast<float>(pow_f64(base, exponent));
  }
}

Result<Rope> Rope::from_file(ModelFile& file, std::size_t head_dim, std::size_t trained_context) {
  PLM_TRY_ASSIGN(const std::size_t dimensions, file.integer_or("rope.dimension_count", head_dim, {2, head_dim}));
  if (dimensions % 2 != 0) {
    return file.key_error("rope.dimension_count", fmt::format("{}", dimensions), "even, since pairs are rotated");
  }
  PLM_TRY_ASSIGN(const double base, file.positive_real_or("rope.freq_base", 10000.0, kMostBase));
  Rope rope(dimensions, base);
  if (file.has_tensor("rope_freqs.weight")) PLM_TRY(rope.read_divisors(file));
  PLM_TRY(rope.read_scaling(file, trained_context));
  const float fastest = *std::max_element(rope.frequencies_.begin(), rope.frequencies_.end());
  const bool is_sane = std::all_of(rope.frequencies_.begin(), rope.frequencies_.end(),
                                   [](float frequency) { return frequency <= kMostRadians; });  // false for NaN
  if (!is_sane) {
    return fail(ErrorKind::bad_input,
                "{}: rope.freq_base, rope.scaling and rope_freqs.weight: turn a pair by {} radians per position, "
                "expected at most {}",
                file.path(), fastest, kMostRadians);
  }
  return rope;
}

Result<void> Rope::read_divisors(ModelFile& file) {
  const MatrixSize size{.outputs = 1, .inputs = frequencies_.size()};
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file.tensor("rope_freqs.weight", size));
  std::vector<float> divisors(size.inputs);
  PLM_TRY_ASSIGN(const TensorBytes data, file.gguf().read(*found.entry));
  found.type->unpack(data.bytes.data(), divisors.data(), divisors.size() / found.type->block_size);
  if (!std::all_of(divisors.begin(), divisors.end(), [](float d) { return d > 0 && std::isfinite(d); })) {
    return fail(ErrorKind::bad_input, "{}: tensor rope_freqs.weight: divisors must be finite and above 0", file.path());
  }
  scale_by_divisors(divisors);
  return {};
}

Result<void> Rope::read_scaling(const ModelFile& file, std::size_t trained_context) {
  PLM_TRY_ASSIGN(const std::string kind, file.text_or("rope.scaling.type", "none"));
  if (kind == "none") return {};
  if (kind != "linear" && kind != "yarn") {
    return file.key_error("rope.scaling.type", "\"" + printable(kind, 80) + "\"", "none, linear or yarn");
  }
  PLM_TRY_ASSIGN(const double factor, file.positive_real("rope.scaling.factor", kMostScaling));
  if (kind == "linear") {
    scale_linear(factor);
    return {};
  }
  Yarn yarn{.factor = factor};
  PLM_TRY_ASSIGN(const std::size_t original,
                 file.integer_or("rope.scaling.original_context_length", trained_context, {1, 1U << 30}));
  yarn.original_context = static_cast<double>(original);
  PLM_TRY_ASSIGN(yarn.beta_fast, file.positive_real_or("rope.scaling.yarn_beta_fast", 32.0, kMostScaling));
  PLM_TRY_ASSIGN(yarn.beta_slow, file.positive_real_or("rope.scaling.yarn_beta_slow", 1.0, kMostScaling));
  PLM_TRY_ASSIGN(yarn.attention_factor, file.positive_real_or("rope.scaling.yarn_attn_factor", 1.0, kMostScaling));
  scale_yarn(yarn);
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
  const double low = std::clamp(std::floor(pair_turning(yarn.beta_fast)), 0.0, size - 1);
  double high = std::clamp(std::ceil(pair_turning(yarn.beta_slow)), 0.0, size - 1);
  if (high == low) high += 0.001;  // a step instead of a division by zero, as the reference does
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double frequency = frequencies_[i];
    frequencies_[i] = static_cast<float>(frequency / yarn.factor * ramp + frequency * (1.0 - ramp));
  }
  const double stretch = yarn.factor > 1 ? 0.1 * log_f64(yarn.factor) + 1.0 : 1.0;
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
