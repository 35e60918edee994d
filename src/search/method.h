// Search methods: how many candidates are drawn and which one is taken. Each is one file methods/method_<name>.cpp; the
// registry is generated.
//
// Candidate i is written with the request's seed and i, whatever else is written beside it, and a method sees
// candidates in the order of their indices. So what it decides does not depend on how many are written at once.
// What every registered one keeps: see the contract there. Tested by tests/search/test_methods.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/definition.h"
#include "base/error.h"
#include "base/settings.h"
#include "search/candidate.h"
#include "search/votes.h"

namespace plm {

struct Decision {
  std::optional<std::size_t> chosen;  ///< an index; nothing: none of them will do
  std::string reason;                 ///< for a person
};

class SearchMethod {
 public:
  virtual ~SearchMethod() = default;
  /// The shortest beginning of the whole candidates 0, 1, ... after which, of `all`, no more are needed; nothing: go
  /// on. `highest`: no verdict's score is higher.
  [[nodiscard]] virtual std::optional<std::size_t> enough(std::span<const SearchCandidate> whole, std::size_t all,
                                                          std::optional<double> highest) const = 0;
  [[nodiscard]] virtual Decision decide(std::span<const SearchCandidate> candidates) const = 0;
};

struct SearchMethodDefinition {
  Definition head;
  bool needs_verifier = false;  ///< else answers are counted, and a verifier only adds to the record
  bool needs_answers = false;
  /// `settings` hold the parameters of all methods. Errors: usage.
  Result<std::unique_ptr<SearchMethod>> (*create)(const Settings& settings);
};

/// All methods, sorted by name (generated).
[[nodiscard]] std::span<const SearchMethodDefinition* const> search_methods();
/// Error (usage) with the known names.
[[nodiscard]] Result<const SearchMethodDefinition*> find_search_method(std::string_view name);
/// Those of all methods, each once. Lives as long as the program.
[[nodiscard]] std::span<const Parameter> search_parameters();

/// One ballot a candidate, in order; of weight one, or of its score. A candidate cut off has none.
[[nodiscard]] std::vector<Ballot> ballots_of(std::span<const SearchCandidate> candidates, bool by_score = false);
/// The first candidate with the answer that has most weight.
[[nodiscard]] Decision decide_by_votes(std::span<const SearchCandidate> candidates, bool by_score);

}  // namespace plm
