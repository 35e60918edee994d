// The tokens of one sequence that samplers may look back on: the prompt, then what was accepted, oldest first.
// Tested by tests/sampling/test_chain.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plm {

struct History {
  std::vector<std::int32_t> tokens;
  std::size_t prompt_length = 0;

  /// Tokens accepted after the prompt.
  [[nodiscard]] std::size_t written() const { return tokens.size() - prompt_length; }
  /// The last `count` tokens, fewer when there are fewer; a negative count means all.
  [[nodiscard]] std::span<const std::int32_t> last(std::int64_t count) const {
    const bool all = count < 0 || static_cast<std::uint64_t>(count) >= tokens.size();
    return std::span(tokens).last(all ? tokens.size() : static_cast<std::size_t>(count));
  }
};

}  // namespace plm
