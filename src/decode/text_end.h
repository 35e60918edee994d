// Where the text on a canvas ends: at the first committed end token, once everything before it is committed.
// Tested by tests/decode/test_golden_steps.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "decode/canvas.h"

namespace plm {

struct TextEnd {
  bool is_finished = false;
  std::size_t length = 0;  ///< cells of the text, without the end token; counts only once it is finished
};

/// `cells`: what was written, behind the prompt.
[[nodiscard]] inline TextEnd text_end(std::span<const Cell> cells, std::span<const TokenId> end_tokens) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].status == CellStatus::open) return {};
    if (std::ranges::find(end_tokens, cells[i].token) != end_tokens.end()) return {true, i};
  }
  return {true, cells.size()};
}

/// First cell behind a committed end token, cells.size() if there is none: what is open from there on can only be end
/// tokens.
[[nodiscard]] inline std::size_t after_end(std::span<const Cell> cells, std::span<const TokenId> end_tokens) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].status != CellStatus::open && std::ranges::find(end_tokens, cells[i].token) != end_tokens.end()) {
      return i + 1;
    }
  }
  return cells.size();
}

}  // namespace plm
