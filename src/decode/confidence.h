// Confidences: how sure the network is of what it proposes for a position. Schedules rank open positions by it.
//
// Each is one file confidences/confidence_<name>.cpp; the registry is generated from the folder. A higher number means
// more sure. Tested by tests/decode/test_golden_steps.cpp.
// tests/decode/test_golden_steps.cpp.
#pragma once

#include <span>
#include <string_view>

#include "base/definition.h"

namespace plm {

/// What a confidence may know of the distribution at one position.
struct DistributionShape {
  double proposed = 0;  ///< probability of the token proposed
  double first = 0;     ///< largest probability
  double second = 0;    ///< second largest, equal to the first on a tie
  double entropy = 0;   ///< nats
  double uniform = 0;   ///< a random number in [0, 1) of the position's own
};

struct ConfidenceDefinition {
  Definition head;
  double (*of)(const DistributionShape& shape);
};

/// All confidences, sorted by name (generated).
[[nodiscard]] std::span<const ConfidenceDefinition* const> confidences();
/// By name or alias; null if there is none.
[[nodiscard]] const ConfidenceDefinition* find_confidence(std::string_view name);

}  // namespace plm
