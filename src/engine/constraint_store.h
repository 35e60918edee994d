// Constraints of one model, compiled: those that were asked for last are kept with all that texts under them have
// learned. Not thread-safe; what it gives out is. Tested by tests/engine/test_constraint_store.cpp.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/constraint_source.h"
#include "constraint/token_constraint.h"
#include "text/tokenizer.h"

namespace plm {

class ConstraintStore {
 public:
  static constexpr std::size_t kMostKept = 16;

  explicit ConstraintStore(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  struct Entry {
    ConstraintSource source;
    std::shared_ptr<TokenConstraint> constraint;
    std::vector<std::string> warnings;
  };
  /// Errors: as of grammar_of and TokenConstraint::create, "constraint: " in front.
  Result<Entry> compiled(const ConstraintSource& source);

  /// Spells bytes as the tokeniser would in the middle of a text; empty for kinds that spell the beginning of a text
  /// otherwise.
  [[nodiscard]] std::function<std::vector<TokenId>(std::string_view)> speller() const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const TokenTrie> trie_;  // made at first use
  std::list<Entry> kept_;                  // the last used first
};

}  // namespace plm
