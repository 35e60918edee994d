// The three passes of sampling that touch every token of the vocabulary: find the greatest logit, take exponentials,
// pick out the logits above a threshold. SIMD (Highway), chosen at run time.
//
// The exponentials are those of exp_f32 to the bit. Their sum is taken in double, in eight partial sums by index modulo
// eight that are added in a fixed tree, so every machine gets the same bits. `row_weights_reference` is the plain
// version. Tested by tests/sampling/test_row_scan.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plm {

/// A stretch of distances from the best key.
struct RowBounds {
  float best, near, far;
};

struct RowHighest {
  float highest;  ///< -inf for an empty or masked row; meaningless unless `is_valid`
  bool is_valid;  ///< there is no NaN and no +inf
};
[[nodiscard]] RowHighest row_highest(std::span<const float> logits);

/// weights[i] = exp_f32(logits[i] - highest); returns their sum. `weights` is as long as `logits`; no logit is NaN or
/// above `highest`, which is finite.
double row_weights(std::span<const float> logits, float highest, float* weights);
double row_weights_reference(std::span<const float> logits, float highest, float* weights);

/// The sum of weights[i] * (highest - logits[i]), where masked logits count 0: with weights of `row_weights`, the mean
/// distance from the highest logit times the sum of the weights.
double row_distance_sum(std::span<const float> logits, float highest, std::span<const float> weights);
double row_distance_sum_reference(std::span<const float> logits, float highest, std::span<const float> weights);

/// For keys with the distances best - key: returns the sum of the weights at distances below `near` (as `row_weights`
/// adds), and the indices, ascending, of those with near <= distance < far in `between`, which lies in `scratch`.
double row_split(std::span<const float> keys, std::span<const float> weights, const RowBounds& bounds,
                 std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between);
double row_split_reference(std::span<const float> keys, std::span<const float> weights, const RowBounds& bounds,
                           std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between);

/// The indices of all logits of at least `threshold`, ascending; they lie in `scratch`, which only ever grows.
[[nodiscard]] std::span<std::uint32_t> row_indices_at_least(std::span<const float> logits, float threshold,
                                                            std::vector<std::uint32_t>& scratch);

}  // namespace plm
