#include "search/tree_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plm {

std::vector<std::size_t> rebase_widths(std::span<const double> rewards, std::size_t budget, double temperature) {
  if (rewards.empty()) return {};
  const double highest = *std::ranges::max_element(rewards);
  std::vector<double> shares;
  for (const double reward : rewards) shares.push_back(std::exp((reward - highest) / temperature));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::size_t> widths, order(rewards.size());
  for (double& share : shares) {
    share *= static_cast<double>(budget) / sum;
    widths.push_back(static_cast<std::size_t>(std::floor(share + 1e-12)));
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto remainder = [&](std::size_t i) { return shares[i] - static_cast<double>(widths[i]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return remainder(a) != remainder(b) ? remainder(a) > remainder(b) : a < b;
  });
  const std::size_t given = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  for (std::size_t i = 0; i + given < budget && i < order.size(); ++i) ++widths[order[i]];
  return widths;
}

std::optional<BeamPlan> plan_beam(const BeamShape& shape) {
  if (shape.branching == 0 || shape.candidates % shape.branching != 0) return std::nullopt;
  return BeamPlan{.kept = shape.candidates / shape.branching,
                  .candidates = shape.candidates,
                  .steps_generated = shape.candidates * shape.depth * (1 + shape.lookahead)};
}

double uct(const NodeRecord& node, double exploration) {
  if (node.visits == 0) return std::numeric_limits<double>::infinity();
  const auto visits = static_cast<double>(node.visits);
  return node.reward_sum / visits + exploration * std::sqrt(std::log(static_cast<double>(node.parent_visits)) / visits);
}

double puct(const NodeRecord& node, double prior, double exploration) {
  const auto visits = static_cast<double>(node.visits);
  const double mean = node.visits > 0 ? node.reward_sum / visits : 0.0;
  return mean + exploration * prior * std::sqrt(static_cast<double>(node.parent_visits)) / (1 + visits);
}

}  // namespace plm
