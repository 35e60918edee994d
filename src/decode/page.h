// A page under way: what parallel decoders share. It opens the cells, runs passes over a block of them, turns the
// answers into proposals, and gives out the text that can no longer change. What to decide is the decoder's affair.
//
// Which rows a pass has follows from what the model sees (model/diffusion_traits.h):
//  full            all cells of the canvas, none remembered.
//  causal_context  the cells of the block; what is before it is remembered, each row having seen what was before it.
//  block_causal    the same, but what is before was remembered block by block, seeing each other within a block.
// The last two are exact: the remembered state is what a pass over everything would compute.
// Where row i - 1 speaks for position i (shifted logits), the first position of a block is spoken for by the last row
// before it. Of the last two kinds that row is remembered and does not change: the position is decided, for good, when
// the block is reached (as Fast-dLLM v2, arXiv 2509.26328, has it).
// Positions are those of the canvas. Tested by tests/engine/test_parallel.cpp and tests/contract/test_decoders.cpp.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/task.h"
#include "decode/decoder.h"
#include "decode/parallel_policy.h"

namespace plm {

class Page {
 public:
  /// `job.parallel` must be there. Both must outlive the page.
  Page(Session& session, DecodeJob& job);

  /// Opens job.max_tokens cells behind the prompt. Errors (usage): the page does not fit the context.
  Result<void> open();

  /// First and one past the last of the cells that are written.
  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t end() const { return job_.canvas.size(); }
  /// The page cut into blocks, as canvas positions; of block-causal models the first holds the prompt's rest as well.
  [[nodiscard]] std::vector<PlannedBlock> blocks() const;
  [[nodiscard]] std::vector<std::size_t> open_in(const PlannedBlock& block) const;
  /// Those that a decoder may take back.
  [[nodiscard]] std::vector<std::size_t> committed_in(const PlannedBlock& block) const;
  [[nodiscard]] TokenId token_at(std::size_t position) const { return job_.canvas.at(position).token; }

  void commit(std::size_t position, const Proposal& proposal);
  void revoke(std::size_t position);
  void replace(std::size_t position, const Proposal& proposal);

  /// Remembers everything before the block, as far as the model can, and decides what that alone decides. To be awaited
  /// before the block's first pass.
  Task<Result<void>> reach(const PlannedBlock& block);

  /// One pass over the block; proposals for `positions`, ascending, all of them cells of the page.
  Task<Result<std::vector<Proposal>>> propose(const PlannedBlock& block, std::span<const std::size_t> positions);

  /// Proposals from the first yields of an answer, one for each of `positions`.
  Result<std::vector<Proposal>> read_proposals(const PassAnswer& answer, std::span<const std::size_t> positions,
                                               std::span<const YieldResult> unconditional = {});

  /// A pass of the decoder's own. Counts, and says so.
  Task<Result<PassAnswer>> pass(const PassRequest& request);

  /// What a schedule gets to see of the proposals. Valid until the next call.
  std::span<const OpenPosition> open_positions(const PlannedBlock& block, std::span<const std::size_t> positions,
                                               std::span<const Proposal> proposals);
  /// A random number in (0, 1) of this position and pass.
  [[nodiscard]] double uniform_at(std::size_t position, Purpose purpose) const;

  /// Whether everything before the first committed end token is committed.
  [[nodiscard]] bool is_finished() const;
  /// Gives out the text of the cells before `until`, as far as they are committed. Returns whether the text has ended
  /// there, by an end token or a stop string.
  bool give_out(std::size_t until);
  /// Gives out what is left and says that nothing follows.
  DecodeOutcome finish();

 private:
  [[nodiscard]] std::span<const Cell> written() const { return job_.canvas.cells().subspan(begin_); }
  /// Whether the first position of a block is spoken for from outside of it.
  [[nodiscard]] bool is_spoken_for() const {
    return policy_.traits.shifts_logits && policy_.traits.attention != DiffusionAttention::full;
  }
  [[nodiscard]] YieldKind yield_kind() const;
  enum class Prompt { shown, masked };
  [[nodiscard]] PassRequest request_for(const PlannedBlock& block, std::span<const std::size_t> positions,
                                        Prompt prompt);
  void note_change(std::size_t position, std::span<const double> log_probabilities);
  /// `unconditional`: logits without the prompt, if guidance asks for them.
  Result<Proposal> proposal_from(const RowStatistics& statistics, std::span<const float> logits,
                                 std::span<const float> unconditional, std::size_t position);

  Session& session_;
  DecodeJob& job_;
  const ParallelPolicy& policy_;
  Proposer proposer_;
  std::size_t begin_;
  std::size_t given_out_;  // cells whose text has been given out
  std::size_t passes_ = 0;
  DecodeOutcome outcome_;
  // Of the pass being asked for.
  std::vector<TokenId> tokens_;
  std::vector<Yield> yields_;
  std::vector<OpenPosition> open_positions_;
  std::vector<double> noise_;
  // For schedules that ask how distributions change, by position.
  struct Past {
    std::vector<double> log_probabilities;
    std::vector<double> changes;
  };
  std::map<std::size_t, Past> pasts_;
};

}  // namespace plm
