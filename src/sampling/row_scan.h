// The passes of sampling that look for something in a whole row of logits: the greatest, what lies above a threshold or
// within a stretch, what stays and moves together. SIMD (Highway), chosen at run time.
//
// Sums are added in the order of partial_sums.h, so every machine gets the same bits. Each `*_reference` is the plain
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
