// Verifiers: what judges a candidate. Each is one file verifiers/verifier_<name>.cpp; the registry is generated.
// Named in a request as "name" or "name:argument". Tested, for every registered one, by
// tests/search/test_verifiers.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/definition.h"
#include "base/error.h"
#include "search/answer.h"
#include "search/candidate.h"

namespace plm {

class Verifier {
 public:
  virtual ~Verifier() = default;
  /// Of a whole candidate. A verifier that cannot judge it (a program that crashes, an expression that takes too long)
  /// gives the lowest score and says why; errors are those of the machine.
  virtual Result<Verdict> judge(const SearchCandidate& candidate) const = 0;
  /// No text has a higher score; nothing: there is no such score.
  [[nodiscard]] virtual std::optional<double> highest_score() const { return std::nullopt; }
  /// Likeliest tokens of which each token's confidence is the mean; 0: none are wanted.
  [[nodiscard]] virtual std::size_t confidence_tokens() const { return 0; }
  /// How an answer is read from a text, where the verifier says it.
  [[nodiscard]] virtual std::optional<AnswerForm> answer_form() const { return std::nullopt; }
};

struct VerifierDefinition {
  Definition head;
  std::string_view argument;  ///< what stands behind the colon, for the help; empty: nothing may
  /// Errors (usage, bad_input) name the argument.
  Result<std::unique_ptr<Verifier>> (*create)(std::string_view argument);
};

/// All verifiers, sorted by name (generated).
[[nodiscard]] std::span<const VerifierDefinition* const> verifiers();

/// From "name" or "name:argument". Errors (usage): an unknown name, with the known ones; an argument that is missing or
/// too much; the verifier's.
[[nodiscard]] Result<std::unique_ptr<Verifier>> create_verifier(std::string_view text);

/// A verdict of a verifier that knows only right and wrong.
[[nodiscard]] inline Verdict yes_or_no(bool accepted, std::string note = {}) {
  return {.score = accepted ? 1.0 : 0.0, .accepted = accepted, .note = std::move(note)};
}

}  // namespace plm
