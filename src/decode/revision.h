// Which decided positions a pass opens again or gives another token. Functions of one pass's numbers; the loops around
// them, and the proof that they end, are in the decoders. Places are indices into the spans given, ascending in
// results. Tested by tests/decode/test_golden_steps.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "decode/schedule.h"
#include "text/token.h"

namespace plm {

/// What a pass decides (places among the open) and takes back or replaces (places among the committed).
struct Revision {
  std::vector<std::size_t> commit;
  std::vector<std::size_t> revise;
};

/// WINO (arXiv 2507.18578): decides what is more certain than `accept`, and opens again what its own leave-one-out
/// probability says is below `keep`.
struct WinoRule {
  double accept = 0.6;
  double keep = 0.9;
};
/// `verify`: probability of each committed token given everything but itself. `last_accepted`: positions decided in the
/// pass before (30 at the start): fewer than that are opened again, so that the number of open positions falls.
[[nodiscard]] Revision wino_step(const WinoRule& rule, std::span<const OpenPosition> open,
                                 std::span<const double> verify, std::size_t last_accepted);

/// ReMDM (arXiv 2503.00307): ancestral steps in which a committed token may be masked again.
enum class RemaskKind { none, max, cap, rescale };
struct RemaskRule {
  RemaskKind kind = RemaskKind::cap;
  double eta = 0.1;            ///< for cap and rescale
  bool by_confidence = false;  ///< shares the probability out among the committed by e^-confidence
};
/// A step of the process from alpha_t to alpha_s >= alpha_t: the fractions that are not masked.
struct RemaskTimes {
  double alpha_t;
  double alpha_s;
};
/// Probability of masking a committed token again, before it is shared out.
[[nodiscard]] double remask_base(const RemaskRule& rule, const RemaskTimes& times);
/// The same for each committed position, given the confidence at which it was committed.
[[nodiscard]] std::vector<double> remask_probabilities(const RemaskRule& rule, const RemaskTimes& times,
                                                       std::span<const double> confidences);
/// Probability that an open position stays open, so that a fraction alpha_s is decided after the step.
[[nodiscard]] double stay_probability(const RemaskRule& rule, const RemaskTimes& times);
/// `remask`: of each committed position; `uniforms`: their random numbers.
[[nodiscard]] Revision remask_step(std::span<const OpenPosition> open, double stay, std::span<const double> remask,
                                   std::span<const double> uniforms);

/// Token-to-token edits (LLaDA2.1): fills what is more certain than `fill`, at least `least`, and replaces a committed
/// token by another that is more certain than `edit`.
struct EditRule {
  double fill = 0.7;
  double edit = 0.9;
  std::size_t least = 1;
};
struct CommittedPosition {
  TokenId token;
  TokenId proposed;
  double score;
};
[[nodiscard]] Revision edit_step(const EditRule& rule, std::span<const OpenPosition> open,
                                 std::span<const CommittedPosition> committed);

}  // namespace plm
