// Automata over the digits of a decimal number that tell whether it is a multiple of another: the state is a remainder.
//
// A number is a multiple of a product of coprime factors if it is one of each, so that a large step becomes several
// small automata. Tested by tests/constraint/test_digit_automaton.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "constraint/decimal.h"
#include "constraint/regular.h"

namespace plm {

inline constexpr std::size_t kMostRemainders = 20'000;  ///< states of one automaton

/// Automata over texts "-12.50" (sign, digits, point; no exponent). `multiple`: all of them accept exactly the
/// multiples of `step` > 0; otherwise one of them at least accepts exactly the others. nullopt: they would be too
/// large.
[[nodiscard]] std::optional<std::vector<std::vector<RegularStore::State>>> digit_automata(const Decimal& step,
                                                                                          bool multiple);

}  // namespace plm
