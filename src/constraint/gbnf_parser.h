// Grammars in GBNF, as llama.cpp accepts them, to a Grammar. The start rule is `root`.
//
// Source: llama.cpp's guide to grammars and its parser's behaviour. Deliberate differences: a rule that is defined
// twice is refused (the last one counts where `lenient`), as are ranges and counts with the larger end first, classes
// without a character, surrogates; a repetition of what may be empty is accepted. Left recursion is refused, as there.
// Tested by tests/constraint/test_gbnf_parser.cpp and tests/fuzz/fuzz_gbnf.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"

namespace plm {

struct GbnfOptions {
  bool lenient = false;
  ConstraintLimits limits;
  /// The token with this text, brackets included ("<think>"); not set: there is no vocabulary.
  std::function<std::optional<TokenId>(std::string_view)> find_token;
  std::size_t tokens = 0x7FFFFFFF;               ///< of the vocabulary: ids are below
  std::vector<std::string>* warnings = nullptr;  ///< what `lenient` let pass
};

/// Errors name line and column: usage (syntax, an undefined rule, no root, an unknown token), bad_input (left
/// recursion), unsatisfiable (no text fits), no_room (past a limit).
Result<Grammar> parse_gbnf(std::string_view text, const GbnfOptions& options = {});

}  // namespace plm
