// A page under way: what parallel decoders share. It opens the cells, runs passes over a block of them, turns the
// answers into proposals, and gives out the text that can no longer change. What to decide is the decoder's affair.
//
// Which rows a pass has follows from what the model sees (model/diffusion_traits.h):
//  full            all cells of the canvas, none remembered.
//  causal_context  the cells of the block; what is before it is remembered, each row having seen what was before it,
//  and
//                  so are the rows that the block's first pass may begin with.
//  block_causal    the same, but what is before was remembered block by block, seeing each other within a block.
// The last two are exact: the remembered state is what a pass over everything would compute.
// Where row i - 1 speaks for position i (shifted logits), the first position of a block is spoken for by the last row
// before it. Of the last two kinds that row is remembered and does not change: the position is decided, for good, when
// the block is reached (as Fast-dLLM v2, arXiv 2509.26328, has it).
// Positions are those of the canvas. Tested by tests/engine/test_parallel.cpp and tests/contract/test_decoders.cpp.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/task.h"
#include "decode/decoder.h"
#include "decode/page_cache.h"
#include "decode/page_length.h"
#include "decode/parallel_policy.h"

namespace plm {

class Page {
 public:
  /// `job.parallel` must be there. Both must outlive the page.
  Page(Session& session, DecodeJob& job);

  /// Opens the job's holes; without any, one of job.max_tokens cells behind the prompt; with `length auto` fewer.
  /// Errors (usage): the page does not fit the context; the decoder does not suit the model; holes that are empty,
  /// unordered or beyond the given cells; a cache that goes together with something else that is asked for.
  Result<void> open();
  /// With `length auto`, lets the page grow or shrink before anything is decided. To be awaited after `open`.
  Task<Result<void>> find_length();
  /// The decoder turns the model's tokens that mean two positions or none into that (`decide`); without, they are never
  /// proposed.
  void take_length_tokens() { takes_length_tokens_ = true; }
  /// The decoder refines noise, which stands at undecided positions in place of a mask token (DiffusionNoise::uniform).
  void take_noise() { takes_noise_ = true; }
  /// The decoder makes do with a cache that is not exact, if one is asked for: its passes are `propose`'s alone, and it
  /// takes no decision back. To be called before `open`.
  void take_cache() { takes_cache_ = true; }

  /// The first cell that is written, and one past the last cell: given ones may lie between and behind.
  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] std::size_t end() const { return job_.canvas.size(); }
  /// The same if all cells come that may.
  [[nodiscard]] std::size_t most_end() const { return end() + length_.left(); }
  /// Whether given cells lie behind cells that are written.
  [[nodiscard]] bool is_infill() const { return !job_.holes.empty(); }
  /// The next of the blocks that the page is cut into, as canvas positions; null after the last. Blocks that have
  /// nothing to be written are left out; of block-causal models the first holds the prompt's rest as well. A block
  /// follows when cells come and go.
  [[nodiscard]] const PlannedBlock* next_block();
  /// Open cells of the block, but for those behind the end of a hole's text.
  [[nodiscard]] std::vector<std::size_t> open_in(const PlannedBlock& block) const;
  /// Those that a decoder may take back.
  [[nodiscard]] std::vector<std::size_t> committed_in(const PlannedBlock& block) const;
  [[nodiscard]] TokenId token_at(std::size_t position) const { return job_.canvas.at(position).token; }

  // `rule`: why, as Event::rule.
  void commit(std::size_t position, const Proposal& proposal, std::string_view rule);
  void replace(std::size_t position, const Proposal& proposal, std::string_view rule);
  /// Commits the chosen ones of the proposals, or does what a token of the model means instead: opens a position more,
  /// takes the position away. The positions of later cells may change.
  void decide(std::span<const std::size_t> positions, std::span<const Proposal> proposals,
              std::span<const std::size_t> places, std::string_view rule);
  /// With `length auto`: gives the most doubtful of these positions more room, if the end of the text is not in sight.
  void give_room(std::span<const std::size_t> positions, std::span<const Proposal> proposals);
  /// Shows other noise at an open position.
  void renoise(std::size_t position);
  /// `probability`: as Event's.
  void revoke(std::size_t position, double probability, std::string_view rule);

  /// Remembers what is before the block, as far as the model can and the block's first pass does not do so by the way,
  /// and decides what that alone decides. To be awaited before that pass, which must be `propose`'s.
  Task<Result<void>> reach(const PlannedBlock& block);

  /// Whether proposals are made from logits, or from statistics of rows alone.
  [[nodiscard]] bool needs_logits() const;

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

  /// Whether in every hole everything before the first committed end token is committed.
  [[nodiscard]] bool is_finished() const;
  /// Gives out the text of the cells before `until`, as far as they are committed. Returns whether the text has ended
  /// there, by an end token or a stop string.
  bool give_out(std::size_t until);
  /// Gives out what is left and says that nothing follows.
  DecodeOutcome finish();

 private:
  /// Whether the first position of a block is spoken for from outside of it.
  [[nodiscard]] bool is_spoken_for() const {
    return policy_.traits.shifts_logits && policy_.traits.attention != DiffusionAttention::full;
  }
  [[nodiscard]] YieldKind yield_kind() const { return needs_logits() ? YieldKind::logits : YieldKind::statistics; }
  /// The cells of a hole.
  struct Region {
    std::size_t begin, end;
  };
  [[nodiscard]] std::span<const Cell> cells_of(const Region& hole) const {
    return job_.canvas.cells().subspan(hole.begin, hole.end - hole.begin);
  }
  [[nodiscard]] bool is_end(TokenId token) const;
  /// What stands at an undecided position: the mask token, or noise of this pass.
  [[nodiscard]] TokenId blank(std::size_t position) const;
  /// The hole of a position that lies in one.
  [[nodiscard]] const Region& hole_of(std::size_t position) const;
  void open_hole(const Hole& hole);
  void plan();
  void insert(std::size_t position, std::size_t count);
  void erase(std::size_t position);
  [[nodiscard]] bool may_grow() const { return length_.rule() == PageLength::Rule::grow && length_.step(cells()) > 0; }
  /// Cells of the holes.
  [[nodiscard]] std::size_t cells() const;
  [[nodiscard]] bool is_deleted_by(std::size_t position, TokenId token) const;
  /// Forbids what may not be proposed in the next pass.
  void suppress();
  [[nodiscard]] bool takes_length_tokens() const;
  /// First of the last positions that tell whether the text ends on the page.
  [[nodiscard]] std::size_t tail_begin() const;
  /// Probabilities of an end at `positions`, where logits are there, and by what is decided elsewhere.
  void note_ends(std::size_t first, std::span<const std::size_t> positions, const PassAnswer& answer);
  enum class Prompt { shown, masked };
  [[nodiscard]] PassRequest request_for(const PlannedBlock& block, std::span<const std::size_t> positions,
                                        Prompt prompt);
  [[nodiscard]] Result<void> open_cache();
  /// A pass that does not count among those that draw.
  Task<Result<PassAnswer>> run(const PassRequest& request);
  void see_blocks(std::size_t from, std::size_t ahead, std::size_t rows);
  void ask_for(std::span<const std::size_t> positions, std::size_t first_row, YieldKind kind);
  Task<Result<std::vector<Proposal>>> propose_cached(const PlannedBlock& block, std::span<const std::size_t> positions);
  Task<Result<void>> measure_drift(std::span<const std::size_t> positions, PassAnswer& cached);
  void note_change(std::size_t position, std::span<const double> log_probabilities);
  /// `unconditional`: logits without the prompt, if guidance asks for them.
  Result<Proposal> proposal_from(const RowStatistics& statistics, std::span<const float> logits,
                                 std::span<const float> unconditional, std::size_t position);

  Session& session_;
  DecodeJob& job_;
  const ParallelPolicy& policy_;
  ProposalRule rule_;
  Proposer proposer_;
  PageLength length_;
  bool takes_length_tokens_ = false;
  bool takes_cache_ = false, takes_noise_ = false;
  std::optional<PageCache> cache_;  // nothing: passes are exact
  std::size_t begin_;
  std::vector<Region> holes_;        // by position
  std::deque<PlannedBlock> blocks_;  // whose entries stay where they are when one is added
  std::size_t next_block_ = 0;
  std::size_t given_out_;  // cells whose text has been given out
  std::size_t passes_ = 0;
  DecodeOutcome outcome_;
  // Of the pass being asked for.
  std::vector<TokenId> tokens_;
  std::vector<Yield> yields_;
  std::vector<std::uint64_t> sight_bits_;
  std::vector<OpenPosition> open_positions_;
  std::vector<double> noise_;
  std::vector<double> ends_;  // probabilities of an end at the last positions, by the pass before
  // For schedules that ask how distributions change, by cell.
  struct Past {
    std::vector<double> log_probabilities;
    std::vector<double> changes;
  };
  std::map<CellId, Past> pasts_;
};

}  // namespace plm
