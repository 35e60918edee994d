// WINO, "wide in, narrow out" (arXiv 2507.18578): decides generously and takes back what does not hold. Behind the page
// lie shadow masks, one a position of the block with that position's number; a shadow sees everything but its own
// position's token, real rows see no shadow. So one pass yields both proposals for open positions and, for decided
// ones, their probability given all the others.
//
// It ends: fewer positions are opened again than were decided in the pass before (30 at the start of a block), so after
// t passes at most n + 30 - t of a block's n positions are open. Tested by tests/engine/test_parallel.cpp against
// golden trajectories.
#include <cmath>

#include "base/portable_math.h"
#include "decode/page.h"
#include "decode/revision.h"

namespace plm {
namespace {

constexpr std::size_t kAcceptedBefore = 30;
constexpr std::size_t kWordBits = 64;

// The pass over page and shadows, with what it needs to stay valid.
class ShadowPass {
 public:
  ShadowPass(const DecodeJob& job, const PlannedBlock& block, std::span<const std::size_t> open,
             std::span<const std::size_t> committed, bool needs_logits)
      : tokens_(job.canvas.tokens()) {
    const TokenId mask = job.parallel->traits.mask_token, closing = job.parallel->traits.closing_token;
    if (closing >= 0) tokens_.push_back(closing);
    const std::size_t real = tokens_.size(), rows = real + block.length;
    tokens_.resize(rows, mask);
    words_ = (rows + kWordBits - 1) / kWordBits;
    bits_.resize(rows * words_);
    for (std::size_t row = 0; row < rows; ++row) {
      positions_.push_back(static_cast<std::uint32_t>(row < real ? row : block.start + (row - real)));
      const std::size_t seen = row < real ? real : rows;
      for (std::size_t other = 0; other < seen; ++other) set(row, other);
      if (row >= real) bits_[row * words_ + positions_[row] / kWordBits] &= ~bit(positions_[row]);
    }
    const YieldKind kind = needs_logits ? YieldKind::logits : YieldKind::statistics;
    for (const std::size_t at : open) {
      yields_.push_back({.row = static_cast<std::uint32_t>(at), .kind = kind, .without = mask});
    }
    for (const std::size_t at : committed) {
      yields_.push_back(
          {.row = static_cast<std::uint32_t>(real + at - block.start), .kind = YieldKind::logits, .without = mask});
    }
  }

  [[nodiscard]] PassRequest request() const {
    return {.tokens = tokens_,
            .state = StateUse::scratch,
            .sight = Sight::by_bits,
            .sight_bits = bits_,
            .positions = positions_,
            .yields = yields_};
  }

 private:
  static std::uint64_t bit(std::size_t column) { return std::uint64_t{1} << (column % kWordBits); }
  void set(std::size_t row, std::size_t column) { bits_[row * words_ + column / kWordBits] |= bit(column); }

  std::vector<TokenId> tokens_;
  std::vector<std::uint32_t> positions_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<Yield> yields_;
};

double probability_of(TokenId token, const RowStatistics& statistics, std::span<const float> logits) {
  return exp_f64(double{logits[static_cast<std::size_t>(token)]} - statistics.log_sum_exp);
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const ParallelPolicy& policy = *job.parallel;
  const WinoRule rule{.accept = policy.settings.real("wino_accept"), .keep = policy.settings.real("wino_keep")};
  Page page(session, job);
  if (policy.traits.attention != DiffusionAttention::full || policy.traits.shifts_logits) {
    co_return fail(
        ErrorKind::usage,
        "decoder wino: needs a model that sees the whole page and speaks for the position of the row; use the "
        "decoder diffusion");
  }
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  const std::size_t longest = page.most_end() - page.begin();
  const std::size_t shadows_at_most = policy.block_length == 0 ? longest : std::min(longest, policy.block_length);
  const std::size_t closing = policy.traits.closing_token >= 0 ? 1 : 0;
  if (page.most_end() + closing + shadows_at_most > session.context_length()) {
    co_return fail(ErrorKind::usage,
                   "decoder wino: page and shadows of a block do not fit a context of {}; raise --context",
                   session.context_length());
  }
  const Task<Result<void>> finding = page.find_length();
  if (const Result<void> found = co_await finding; !found.has_value()) co_return tl::unexpected<Error>(found.error());
  while (const PlannedBlock* next = page.next_block()) {
    const PlannedBlock& block = *next;
    std::size_t last_accepted = kAcceptedBefore;
    while (true) {
      const std::vector<std::size_t> open = page.open_in(block), committed = page.committed_in(block);
      if (open.empty()) break;
      const ShadowPass shadows(job, block, open, committed, page.needs_logits());
      const PassRequest request = shadows.request();
      const Task<Result<PassAnswer>> running = page.pass(request);
      const Result<PassAnswer> answer = co_await running;
      if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
      const Result<std::vector<Proposal>> proposals = page.read_proposals(*answer, open);
      if (!proposals.has_value()) co_return tl::unexpected<Error>(proposals.error());
      std::vector<double> verify;
      for (std::size_t i = 0; i < committed.size(); ++i) {
        const std::size_t at = open.size() + i;
        verify.push_back(
            probability_of(page.token_at(committed[i]), answer->statistics[at], answer->results[at].values));
      }
      const Revision revision = wino_step(rule, page.open_positions(block, open, *proposals), verify, last_accepted);
      last_accepted = revision.commit.size();
      for (const std::size_t place : revision.revise) page.revoke(committed[place], verify[place], "wino_keep");
      for (const std::size_t place : revision.commit) page.commit(open[place], (*proposals)[place], "wino_accept");
    }
    if (page.is_finished() || page.give_out(block.start + block.length)) break;
  }
  co_return page.finish();
}

constexpr Parameter kParameters[] = {
    {
        .name = "wino_accept",
        .summary = "confidence above which a position is decided",
        .type = ParameterType::real,
        .standard = 0.6,
        .min = 0,
        .max = 1,
    },
    {
        .name = "wino_keep",
        .summary = "probability, given all other tokens, below which a decided position is opened again",
        .type = ParameterType::real,
        .standard = 0.9,
        .min = 0,
        .max = 1,
    },
};

}  // namespace

extern constinit const DecoderDefinition decoder_wino = {
    .head = {.name = "wino",
             .summary = "fills a page generously and takes back what does not hold against the rest",
             .source = "arXiv 2507.18578",
             .parameters = kParameters},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
