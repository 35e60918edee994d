// How a tree search shares its work among partial candidates: beam search and DVTS (Snell et al., arXiv 2408.03314;
// Beeching et al. 2024), REBASE (2408.00724), and the two rules of Monte-Carlo tree search (UCT, PUCT). Datasheet 42.
// Tested by tests/search/test_tree_policy.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plm {

/// Children of each node: `budget` times the softmax of reward / temperature, rounded by the largest remainder so that
/// the sum is exact (equal remainders: the earlier node).
[[nodiscard]] std::vector<std::size_t> rebase_widths(std::span<const double> rewards, std::size_t budget,
                                                     double temperature);

struct BeamPlan {
  std::size_t kept = 0;             ///< candidates that survive a step
  std::size_t candidates = 0;       ///< written in each step
  std::size_t steps_generated = 0;  ///< in all
  bool operator==(const BeamPlan&) const = default;
};
/// The cost of beam search with `candidates` a step, of which one in `branching` survives; DVTS costs the same.
/// Nothing where `branching` does not divide `candidates`.
struct BeamShape {
  std::size_t candidates, branching, depth, lookahead = 0;
};
[[nodiscard]] std::optional<BeamPlan> plan_beam(const BeamShape& shape);

/// What is known of a child in a search tree.
struct NodeRecord {
  double reward_sum = 0;
  std::size_t visits = 0;
  std::size_t parent_visits = 0;
};
/// Infinite for a child that was never visited.
[[nodiscard]] double uct(const NodeRecord& node, double exploration);
[[nodiscard]] double puct(const NodeRecord& node, double prior, double exploration);

}  // namespace plm
