// Proposals: which token the network would put at a position, and how sure it is, from one row of logits.
//
// In this order: guidance, suppression, temperature, filters, proposal (the largest, or Gumbel-max with noise), score.
// All arithmetic is in double: Gumbel noise in float32 lowers the effective temperature (arXiv 2409.02908).
// Ties: higher value, then lower id. Tested by tests/decode/test_golden_steps.cpp.
#pragma once

#include <span>
#include <vector>

#include "decode/confidence.h"
#include "model/pass.h"
#include "text/token.h"

namespace plm {

struct ProposalRule {
  const ConfidenceDefinition* confidence = nullptr;
  double temperature = 0;  ///< 0: logits as they are, no filter
  std::size_t top_k = 0;   ///< 0: all
  double top_p = 1;        ///< 1: all
  bool top_p_first = false;
  bool score_tempered = false;        ///< score from the tempered and filtered distribution, not from the raw one
  double guidance = 0;                ///< w of unconditional + (w + 1)(conditional - unconditional); 0: none
  std::vector<TokenId> suppressed{};  ///< never proposed; the mask token is one
  std::vector<TokenId> last{};        ///< proposals of these tokens are taken last: their score is -inf

  /// Whether RowStatistics of the row say all that is asked for.
  [[nodiscard]] bool needs_only_statistics() const {
    return temperature == 0 && guidance == 0 && suppressed.size() <= 1;
  }
};

struct Proposal {
  TokenId token = kNoToken;
  double score = 0;
  double probability = 0;  ///< of the token, in the distribution that the score is taken from
  double entropy = 0;      ///< of that distribution, in nats
};

/// What a row of logits proposes, worked out in memory that is reused.
class Proposer {
 public:
  explicit Proposer(const ProposalRule& rule) : rule_(rule) {}

  /// `unconditional`: logits for the same position without the prompt; empty without guidance. `noise`: uniform numbers
  /// in (0, 1), one a token; empty: the largest logit is proposed. `uniform`: for the confidence `random`.
  Proposal operator()(std::span<const float> logits, std::span<const float> unconditional,
                      std::span<const double> noise, double uniform);

  /// Log-probabilities that the last score was taken from, [vocab]; -inf where there is none.
  [[nodiscard]] std::span<const double> log_probabilities() const { return scored_; }

 private:
  void temper();
  void keep_top_p(std::span<const std::size_t> ids);
  [[nodiscard]] std::vector<std::size_t> ranked() const;

  const ProposalRule& rule_;
  std::vector<double> logits_;    // guided and suppressed
  std::vector<double> tempered_;  // as the proposal sees them
  std::vector<double> scored_;
};

/// The same from statistics of a row in which the suppressed token counts as -inf; the rule must need nothing else.
[[nodiscard]] Proposal propose(const RowStatistics& statistics, const ProposalRule& rule, double uniform);

/// Turns logits into log-probabilities. Some must be finite.
void log_softmax(std::span<double> logits);

/// KL divergence, in nats, of one distribution from another, both as log-probabilities of the same tokens.
[[nodiscard]] double divergence(std::span<const double> of, std::span<const double> from);

/// -log(-log u): noise that makes the argmax of logits a draw (Gumbel, 1954). u in (0, 1).
[[nodiscard]] double gumbel(double u);

}  // namespace plm
