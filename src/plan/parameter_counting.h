// Parameters of a network by four rules, since those who publish a number do not say which they followed.
//
// stored: what the file holds. active: without the experts that a row does not meet. multiplied: of the active those
// that take part in a product, thus without tables whose rows are looked up; what writing one token reads. without
// embeddings: stored, less the table of the vocabulary and the head.
// Tested by tests/plan/test_parameter_counting.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "plan/model_sketch.h"

namespace plm {

struct CountedParameters {
  std::uint64_t stored = 0;
  // Nothing where a sketch states the total alone.
  std::optional<std::uint64_t> active;
  std::optional<std::uint64_t> multiplied;
  std::optional<std::uint64_t> without_embeddings;
};

/// By the sizes of the layers, or as stated. Error (usage): layers that are not told in full, and no stated count.
[[nodiscard]] Result<CountedParameters> count_parameters(const ModelSketch& sketch);

/// Of one layer: those of its mixers, of its feed-forward network, and of that what a row meets. Nothing for mixers
/// whose weights the sketch does not tell.
struct LayerParameters {
  std::uint64_t mixers = 0;
  std::uint64_t feed_forward = 0;
  std::uint64_t met = 0;
  std::uint64_t rest = 0;  ///< norms and the like
};
[[nodiscard]] std::optional<LayerParameters> layer_parameters(const LayerSketch& layer, std::uint64_t hidden);

/// Experts of `experts` that `rows` rows meet together, each choosing `used` of them at random: what a pass must read
/// of a layer at most. Source: reference plan.md, section 4.
[[nodiscard]] double met_experts(std::uint64_t experts, std::uint64_t used, std::uint64_t rows);

}  // namespace plm
