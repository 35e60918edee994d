// The passes of sampling that touch every token of the vocabulary: find the greatest logit, take exponentials, pick out
// what lies above a threshold or within a stretch, move what stays together. SIMD (Highway), chosen at run time.
//
// The exponentials are those of exp_f32 to the bit. Their sums are taken in double, in eight partial sums by index
// modulo eight that are added in a fixed tree, so every machine gets the same bits. Each `*_reference` is the plain
// version. Tested by tests/sampling/test_row_scan.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plm {

/// A stretch of distances |center - logit|.
struct RowBounds {
  float center, near, far;
};

/// The last token of those that are nearest to `center`: of equally distant ones the higher logit comes first, of equal
/// logits the lower id.
struct RowEnd {
  float center, logit;
  std::int32_t id;
};

/// A row of candidates and where those that stay are written, which may be where the row lies.
struct RowMove {
  std::span<const float> logits;
  const std::int32_t* ids;  ///< null: candidate i is token i
  float* weights;           ///< moved in place
  float* kept_logits;
  std::int32_t* kept_ids;
};

struct RowHighest {
  float highest;  ///< -inf for an empty or masked row; meaningless unless `is_valid`
  bool is_valid;  ///< there is no NaN and no +inf
};
[[nodiscard]] RowHighest row_highest(std::span<const float> logits);

/// How many logits are above one, and how many equal it.
struct RowPlace {
  std::size_t above, equal;
};
[[nodiscard]] RowPlace row_place(std::span<const float> logits, float logit);

/// weights[i] = exp_f32(logits[i] - highest); returns their sum. `weights` is as long as `logits`; no logit is NaN or
/// above `highest`, which is finite.
double row_weights(std::span<const float> logits, float highest, float* weights);
double row_weights_reference(std::span<const float> logits, float highest, float* weights);

/// The sum of weights[i] * (highest - logits[i]), where masked logits count 0: with weights of `row_weights`, the mean
/// distance from the highest logit times the sum of the weights.
double row_distance_sum(std::span<const float> logits, float highest, std::span<const float> weights);
double row_distance_sum_reference(std::span<const float> logits, float highest, std::span<const float> weights);

/// The sum of the weights, added as `row_weights` adds.
double row_sum(std::span<const float> weights);
double row_sum_reference(std::span<const float> weights);

/// Returns the sum of the weights at distances below `near` (added as `row_weights` adds), and the indices, ascending,
/// of those with near <= distance < far in `between`, which lies in `scratch`.
double row_split(std::span<const float> logits, std::span<const float> weights, const RowBounds& bounds,
                 std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between);
double row_split_reference(std::span<const float> logits, std::span<const float> weights, const RowBounds& bounds,
                           std::vector<std::uint32_t>& scratch, std::span<std::uint32_t>& between);

struct RowKept {
  std::size_t count;
  float highest;  ///< logit; -inf when nothing was kept
};
/// Moves together, in their order, those that come before `end`, and the end itself.
RowKept row_keep(const RowMove& row, const RowEnd& end);
RowKept row_keep_reference(const RowMove& row, const RowEnd& end);

/// The indices of all logits of at least `threshold`, ascending; they lie in `scratch`, which only ever grows.
[[nodiscard]] std::span<std::uint32_t> row_indices_at_least(std::span<const float> logits, float threshold,
                                                            std::vector<std::uint32_t>& scratch);

/// As these, of all logits with |center - logit| < far.
[[nodiscard]] std::span<std::uint32_t> row_indices_near(std::span<const float> logits, float center, float far,
                                                        std::vector<std::uint32_t>& scratch);

}  // namespace plm
