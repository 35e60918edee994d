// A constraint as somebody wrote it, which a request and a recipe carry, and how it becomes a grammar.
// Tested by tests/constraint/test_constraint_source.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"

namespace plm {

/// The languages that constraints are written in.
enum class ConstraintLanguage : std::uint8_t { gbnf, regex, choice, json_schema };
/// "gbnf", "regex", "choice", "json_schema".
[[nodiscard]] std::string_view constraint_language_name(ConstraintLanguage language);
[[nodiscard]] std::optional<ConstraintLanguage> find_constraint_language(std::string_view name);

struct ConstraintSource {
  ConstraintLanguage language = ConstraintLanguage::gbnf;
  std::string text;                  ///< not for choices
  std::vector<std::string> choices;  ///< texts, of which it is to be one
  bool lenient = false;              ///< what cannot be enforced is a warning, not an error
  friend bool operator==(const ConstraintSource&, const ConstraintSource&) = default;
};

/// What a grammar may know of a vocabulary.
struct NamedTokens {
  std::function<std::optional<TokenId>(std::string_view)> find = {};  ///< by text; not set: there is none
  std::size_t count = 0x7FFFFFFF;
};

/// Errors: as of the parsers; usage (no choice, or an empty list). `warnings` is appended to.
[[nodiscard]] Result<Grammar> grammar_of(const ConstraintSource& source, const NamedTokens& tokens,
                                         std::vector<std::string>& warnings);

}  // namespace plm
