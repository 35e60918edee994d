// The passes of sampling that take or add up exponentials of a whole row of logits. SIMD (Highway), chosen at run time.
//
// The exponentials are those of exp_f32 to the bit, and their sums are added in the order of partial_sums.h, so every
// machine gets the same bits. Each `*_reference` is the plain version. Tested by tests/sampling/test_row_weights.cpp.
#pragma once

#include <span>

namespace plm {

/// weights[i] = exp_f32(logits[i] - highest); returns their sum. `weights` is as long as `logits`; no logit is NaN or
/// above `highest`, which is finite.
double row_weights(std::span<const float> logits, float highest, float* weights);
double row_weights_reference(std::span<const float> logits, float highest, float* weights);

/// The sum of weights[i] * (highest - logits[i]), where masked logits count 0: with weights of `row_weights`, the mean
/// distance from the highest logit times the sum of the weights.
double row_distance_sum(std::span<const float> logits, float highest, std::span<const float> weights);
double row_distance_sum_reference(std::span<const float> logits, float highest, std::span<const float> weights);

/// Both sums, in one pass that stores no weights.
struct RowMass {
  double weights, distances;
  bool operator==(const RowMass&) const = default;
};
[[nodiscard]] RowMass row_mass(std::span<const float> logits, float highest);
[[nodiscard]] RowMass row_mass_reference(std::span<const float> logits, float highest);

/// The sum of the weights, added as `row_weights` adds.
double row_sum(std::span<const float> weights);
double row_sum_reference(std::span<const float> weights);

}  // namespace plm
