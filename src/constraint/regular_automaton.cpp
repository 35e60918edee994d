// Automata made elsewhere as expressions: every state is a node whose row is known from the beginning.
// Tested by tests/constraint/test_digit_automaton.cpp.
#include "constraint/regular.h"

namespace plm {

Regular RegularStore::automaton(std::span<const State> states) {
  if (states.empty()) return Regular::nothing;
  if (nodes_.size() + states.size() > limits_.regular_nodes) {
    exhausted_ = true;
    return Regular::nothing;
  }
  const auto base = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    // `boolean`: whether a state has a text at all takes a search.
    nodes_.push_back({.kind = Kind::state,
                      .nullable = states[i].accepts,
                      .boolean = true,
                      .first = base,
                      .second = static_cast<std::uint32_t>(i),
                      .minimum = states[i].accepts ? 0U : 1U});
    row_places_.emplace_back();
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    Row row;
    unsigned first = 0;
    for (const State::Run& run : states[i].runs) {
      const Regular target = run.target == kNoState ? Regular::nothing : static_cast<Regular>(base + run.target);
      const bool same = !row.empty() && row.back().target == target;
      (same ? row.back() : row.emplace_back()) = {run.last, target};
      (void)bytes(ByteSet::range(first, run.last));  // so that byte_sets() tells these bytes apart
      first = run.last + 1U;
    }
    keep_row(static_cast<Regular>(base + i), row);
  }
  return static_cast<Regular>(base);
}

}  // namespace plm
