// What a stranger's constraint (grammar, expression, schema) may cost, in one place. Every limit is named in the error
// that it causes. Tested where it is used: tests/constraint/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plm {

struct ConstraintLimits {
  std::size_t text_bytes = std::size_t{4} << 20;    ///< of a grammar, expression or schema as written
  std::size_t nesting = 256;                        ///< of groups, and of schemas in schemas
  std::uint32_t grammar_repetition = 4096;          ///< largest count of {m,n} in a GBNF grammar
  std::uint32_t expression_repetition = 1'000'000;  ///< the same in a regular expression
  std::size_t regular_nodes = 1'000'000;            ///< different regular expressions, derivatives included
  std::size_t grammar_nodes = 1'000'000;            ///< parts of a grammar
  std::size_t search_steps = 200'000;               ///< expressions looked at to decide whether a language is empty
  std::size_t stack_depth = 4096;                   ///< parts of a grammar that wait for an inner one to end
  std::size_t threads_of_state = 4096;              ///< ways in which one text may be read at the same time
  std::size_t automaton_bytes = std::size_t{256} << 20;  ///< states, transitions and masks of one compiled constraint
};

}  // namespace plm
