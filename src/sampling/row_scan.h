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

struct RowHighest {
  float highest;  ///< -inf for an empty or masked row; meaningless unless `is_valid`
  bool is_valid;  ///< there is no NaN and no +inf
};
[[nodiscard]] RowHighest row_highest(std::span<const float> logits);

/// weights[i] = exp_f32(logits[i] - highest); returns their sum. `weights` is as long as `logits`; no logit is NaN or
/// above `highest`, which is finite.
double row_weights(std::span<const float> logits, float highest, float* weights);
double row_weights_reference(std::span<const float> logits, float highest, float* weights);

/// The indices of all logits of at least `threshold`, ascending; they lie in `scratch`, which only ever grows.
[[nodiscard]] std::span<std::uint32_t> row_indices_at_least(std::span<const float> logits, float threshold,
                                                            std::vector<std::uint32_t>& scratch);

}  // namespace plm
