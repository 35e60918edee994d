// A text that a grammar has, at random: for people who want to see what a constraint asks for.
// Tested by tests/constraint/test_structural_tags.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "constraint/automaton.h"

namespace plm {

/// Walks over mostly printable bytes and ends as soon as it can after `length` bytes. Equal seeds give equal texts.
/// Errors: no_room (past a limit), bad_input (only tokens, which have no text, may come).
[[nodiscard]] Result<std::string> example_text(Automaton& automaton, std::uint64_t seed, std::size_t length);

}  // namespace plm
