// Mask-to-token and token-to-token edits (LLaDA2.1): a pass fills what is certain and replaces decided tokens of which
// it is certain that they should be others. When a block has no mask left, up to edit_passes more passes may replace.
// Only for models trained on pages with wrong tokens (diffusion.kind = edit): others destroy what they wrote.
//
// It ends: while there are masks each pass fills one at least; afterwards passes are counted, and a page seen before
// ends the block. Tested by tests/engine/test_parallel.cpp against golden trajectories.
#include <set>

#include "decode/page.h"
#include "decode/revision.h"

namespace plm {
namespace {

std::vector<std::size_t> merged(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  std::vector<std::size_t> all;
  std::ranges::merge(a, b, std::back_inserter(all));
  return all;
}

// Runs one pass over the block and applies it. The number of tokens replaced.
Task<Result<std::size_t>> edit_once(Page& page, const PlannedBlock& block, const EditRule& rule) {
  const std::vector<std::size_t> open = page.open_in(block), committed = page.committed_in(block);
  const std::vector<std::size_t> all = merged(open, committed);
  const Task<Result<std::vector<Proposal>>> proposing = page.propose(block, all);
  const Result<std::vector<Proposal>> proposals = co_await proposing;
  if (!proposals.has_value()) co_return tl::unexpected<Error>(proposals.error());
  std::vector<Proposal> of_open, of_committed;
  std::vector<CommittedPosition> standing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Proposal& proposal = (*proposals)[i];
    if (std::ranges::binary_search(open, all[i])) {
      of_open.push_back(proposal);
    } else {
      of_committed.push_back(proposal);
      standing.push_back({page.token_at(all[i]), proposal.token, proposal.score});
    }
  }
  const Revision revision = edit_step(rule, page.open_positions(block, open, of_open), standing);
  for (const std::size_t place : revision.revise) page.replace(committed[place], of_committed[place], "edit_replace");
  for (const std::size_t place : revision.commit) page.commit(open[place], of_open[place], "edit_fill");
  co_return revision.revise.size();
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const ParallelPolicy& policy = *job.parallel;
  const EditRule rule{.fill = policy.settings.real("edit_fill"),
                      .edit = policy.settings.real("edit_replace"),
                      .least = static_cast<std::size_t>(policy.settings.integer("edit_least"))};
  const auto most_passes = static_cast<std::size_t>(policy.settings.integer("edit_passes"));
  if (!policy.traits.edits) {
    co_return fail(
        ErrorKind::usage,
        "decoder edit: this model was not trained to correct tokens that it sees and would destroy them; use the "
        "decoder diffusion or wino (--override diffusion.kind=edit says that it was)");
  }
  Page page(session, job);
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  const Task<Result<void>> finding = page.find_length();
  if (const Result<void> found = co_await finding; !found.has_value()) co_return tl::unexpected<Error>(found.error());
  while (const PlannedBlock* next = page.next_block()) {
    const PlannedBlock& block = *next;
    const Task<Result<void>> reaching = page.reach(block);
    const Result<void> reached = co_await reaching;
    if (!reached.has_value()) co_return tl::unexpected<Error>(reached.error());
    std::set<std::vector<TokenId>> seen;
    std::size_t extra_passes = 0;
    while (true) {
      const bool is_filled = page.open_in(block).empty();
      const bool is_new = seen.insert(job.canvas.tokens()).second;
      if (is_filled && (extra_passes >= most_passes || !is_new)) break;
      const Task<Result<std::size_t>> editing = edit_once(page, block, rule);
      const Result<std::size_t> replaced = co_await editing;
      if (!replaced.has_value()) co_return tl::unexpected<Error>(replaced.error());
      if (is_filled && *replaced == 0) break;
      if (is_filled) ++extra_passes;
    }
    if (page.give_out(block.start + block.length) || page.is_finished()) break;
  }
  co_return page.finish();
}

constexpr Parameter kParameters[] = {
    {
        .name = "edit_fill",
        .summary = "probability above which a mask is filled",
        .type = ParameterType::real,
        .standard = 0.7,
        .min = 0,
        .max = 1,
    },
    {
        .name = "edit_replace",
        .summary = "probability above which another token replaces a decided one",
        .type = ParameterType::real,
        .standard = 0.9,
        .min = 0,
        .max = 1,
    },
    {
        .name = "edit_least",
        .summary = "masks that a pass fills at least, the most certain ones, while there are so many",
        .type = ParameterType::integer,
        .standard = std::int64_t{1},
        .min = 1,
        .max = 1U << 20,
        .unit = "tokens",
    },
    {
        .name = "edit_passes",
        .summary = "passes over a block after its last mask is filled",
        .type = ParameterType::integer,
        .standard = std::int64_t{16},
        .min = 0,
        .max = 4096,
        .unit = "passes",
    },
};

}  // namespace

extern constinit const DecoderDefinition decoder_edit = {
    .head = {.name = "edit",
             .aliases = "token_edit",
             .summary = "fills a page and corrects it, for models trained to",
             .source = "LLaDA2.1 technical report",
             .parameters = kParameters},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
