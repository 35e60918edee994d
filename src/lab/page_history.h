// Measures of a page that was filled out of order and revised: one state of all cells for each step.
// Source: reference metrics.md. Tested by tests/lab/test_page_history.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plm {

/// Tokens of every cell after each step; all of one length. `mask` stands where nothing is decided.
struct PageHistory {
  std::vector<std::vector<std::int32_t>> states;
  std::int32_t mask = 0;
};

/// Decided tokens that changed later, over all decisions.
[[nodiscard]] std::optional<double> flip_rate(const PageHistory& history);
/// Cells that went back to a token which they had left.
[[nodiscard]] std::size_t oscillating_cells(const PageHistory& history);
/// Kendall's tau-b between the place of a cell and the step it was decided in: 1 strictly from left to right. Nothing
/// when all were decided at once.
[[nodiscard]] std::optional<double> left_to_right(std::span<const std::int32_t> commit_steps);
/// Nothing without a pass.
[[nodiscard]] std::optional<double> tokens_per_pass(std::size_t tokens, std::size_t passes);

}  // namespace plm
