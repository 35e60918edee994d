// Masked diffusion: the page starts as masks; each pass proposes a token for every open position of the block, the
// schedule decides which to keep. Blocks are written one after another. Sources: LLaDA (arXiv 2502.09992), Dream
// (2508.15487), Fast-dLLM (2505.22618), SDAR (2510.06303); datasheet part XIII.
//
// It ends: a pass that decides nothing after as many passes as the block has positions decides the most certain one.
// Tested by tests/engine/test_parallel.cpp against golden trajectories.
#include <algorithm>

#include "decode/page.h"

namespace plm {
namespace {

struct Chosen {
  std::vector<std::size_t> places;
  std::string_view rule;
};
/// The places that the schedule chooses, or the best where it must go on.
Chosen choose(const ParallelPolicy& policy, const Step& step) {
  Chosen chosen{policy.schedule->choose(step), policy.schedule_name};
  const bool is_late = step.index + 1 >= std::max(step.passes, step.block_length);
  if (chosen.places.empty() && is_late) chosen = {best_of(step.open, 1), "late"};
  return chosen;
}

// Of the open positions of a block those that may be decided next: of the first sub-block that has some.
std::vector<std::size_t> next_positions(const ParallelPolicy& policy, const PlannedBlock& block,
                                        std::vector<std::size_t> open) {
  const auto length = static_cast<std::size_t>(policy.settings.integer("sub_block_length"));
  if (length == 0 || open.empty()) return open;
  const std::size_t part = (open.front() - block.start) / length;
  std::erase_if(open, [&](std::size_t at) { return (at - block.start) / length != part; });
  return open;
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const ParallelPolicy& policy = *job.parallel;
  Page page(session, job);
  page.take_length_tokens();
  page.take_cache();
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  const Task<Result<void>> finding = page.find_length();
  if (const Result<void> found = co_await finding; !found.has_value()) co_return tl::unexpected<Error>(found.error());
  while (const PlannedBlock* next = page.next_block()) {
    const PlannedBlock& block = *next;
    const Task<Result<void>> reaching = page.reach(block);
    const Result<void> reached = co_await reaching;
    if (!reached.has_value()) co_return tl::unexpected<Error>(reached.error());
    const std::size_t open_at_start = page.open_in(block).size();
    bool is_finished = false;
    for (std::size_t index = 0; !is_finished; ++index) {
      const std::vector<std::size_t> positions = next_positions(policy, block, page.open_in(block));
      if (positions.empty()) break;
      const Task<Result<std::vector<Proposal>>> proposing = page.propose(block, positions);
      const Result<std::vector<Proposal>> proposals = co_await proposing;
      if (!proposals.has_value()) co_return tl::unexpected<Error>(proposals.error());
      const Step step{.open = page.open_positions(block, positions, *proposals),
                      .index = index,
                      .passes = block.passes,
                      .block_length = block.length,
                      .open_at_start = open_at_start};
      const Chosen chosen = choose(policy, step);
      page.decide(positions, *proposals, chosen.places, chosen.rule);
      if (!chosen.places.empty()) page.give_room(positions, *proposals);
      is_finished = policy.traits.attention == DiffusionAttention::full && page.is_finished();
      is_finished = page.give_out(block.start + block.length) || is_finished;
    }
    if (is_finished) break;
  }
  co_return page.finish();
}

constexpr Parameter kParameters[] = {
    {
        .name = "sub_block_length",
        .summary =
            "a block is decided in parts of so many positions, one after another, all of it being seen (Fast-dLLM "
            "v2: 8); 0: as a whole",
        .type = ParameterType::integer,
        .standard = std::int64_t{0},
        .min = 0,
        .max = 1U << 20,
        .unit = "tokens",
    },
};

}  // namespace

extern constinit const DecoderDefinition decoder_diffusion = {
    .head = {.name = "diffusion",
             .aliases = "masked, parallel",
             .summary = "fills a page of masks, in every pass the positions that the schedule chooses",
             .source = "LLaDA, arXiv 2502.09992; datasheet part XIII",
             .parameters = kParameters},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
