#include "lab/page_history.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace plm {

std::optional<double> flip_rate(const PageHistory& history) {
  std::size_t decided = 0, flipped = 0;
  const auto& states = history.states;
  if (states.empty()) return std::nullopt;
  for (const std::int32_t token : states.front()) decided += token != history.mask ? 1U : 0U;
  for (std::size_t step = 1; step < states.size(); ++step) {
    const auto &before = states[step - 1], &after = states[step];
    for (std::size_t cell = 0; cell < std::min(before.size(), after.size()); ++cell) {
      if (before[cell] == history.mask) {
        decided += after[cell] != history.mask ? 1U : 0U;
      } else if (after[cell] != before[cell]) {
        ++flipped;
      }
    }
  }
  if (decided == 0) return std::nullopt;
  return static_cast<double>(flipped) / static_cast<double>(decided);
}

std::size_t oscillating_cells(const PageHistory& history) {
  if (history.states.empty()) return 0;
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < history.states.front().size(); ++cell) {
    std::set<std::int32_t> left;
    std::int32_t now = history.mask;
    bool came_back = false;
    for (const auto& state : history.states) {
      const std::int32_t token = cell < state.size() ? state[cell] : history.mask;
      if (token == now) continue;
      if (now != history.mask) left.insert(now);
      came_back = came_back || (token != history.mask && left.contains(token));
      now = token;
    }
    if (came_back) ++count;
  }
  return count;
}

std::optional<double> left_to_right(std::span<const std::int32_t> commit_steps) {
  double later = 0, sooner = 0, together = 0;
  for (std::size_t i = 0; i < commit_steps.size(); ++i) {
    for (std::size_t j = i + 1; j < commit_steps.size(); ++j) {
      const std::int32_t a = commit_steps[i], b = commit_steps[j];
      (b > a ? later : b < a ? sooner : together) += 1;
    }
  }
  const double all = later + sooner + together;
  if (all == 0 || all == together) return std::nullopt;
  return (later - sooner) / std::sqrt(all * (all - together));
}

std::optional<double> tokens_per_pass(std::size_t tokens, std::size_t passes) {
  if (passes == 0) return std::nullopt;
  return static_cast<double>(tokens) / static_cast<double>(passes);
}

}  // namespace plm
