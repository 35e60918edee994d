// ReMDM (arXiv 2503.00307): ancestral steps of the masking process in which what is decided may be masked again, so
// that early mistakes can be mended; the share of decided positions after each step is that of the process without.
//
// It ends: the number of steps is fixed, and the last one decides all and masks none.
// Tested by tests/engine/test_parallel.cpp; the step itself by tests/decode/test_golden_steps.cpp.
#include <map>

#include "decode/page.h"
#include "decode/revision.h"

namespace plm {
namespace {

RemaskRule rule_of(const Settings& settings) {
  const std::string kind = settings.text("remask");
  RemaskRule rule{.eta = settings.real("remask_eta"), .by_confidence = settings.boolean("remask_by_confidence")};
  rule.kind = kind == "max"       ? RemaskKind::max
              : kind == "rescale" ? RemaskKind::rescale
              : kind == "none"    ? RemaskKind::none
                                  : RemaskKind::cap;
  return rule;
}

// Decided positions with what is needed to take them back.
struct Decided {
  std::vector<double> confidences, uniforms;

  Decided(const Page& page, std::span<const std::size_t> positions, const std::map<std::size_t, double>& at_commit) {
    for (const std::size_t position : positions) {
      confidences.push_back(at_commit.at(position));
      uniforms.push_back(page.uniform_at(position, Purpose::gate));
    }
  }
};

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const ParallelPolicy& policy = *job.parallel;
  const RemaskRule rule = rule_of(policy.settings);
  Page page(session, job);
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  const Task<Result<void>> finding = page.find_length();
  if (const Result<void> found = co_await finding; !found.has_value()) co_return tl::unexpected<Error>(found.error());
  while (const PlannedBlock* next = page.next_block()) {
    const PlannedBlock& block = *next;
    const Task<Result<void>> reaching = page.reach(block);
    const Result<void> reached = co_await reaching;
    if (!reached.has_value()) co_return tl::unexpected<Error>(reached.error());
    const std::size_t steps = policy.passes > 0 ? block.passes : page.open_in(block).size();
    std::map<std::size_t, double> at_commit;  // position: confidence
    for (std::size_t step = 0; step < steps; ++step) {
      const std::vector<std::size_t> open = page.open_in(block), committed = page.committed_in(block);
      const Task<Result<std::vector<Proposal>>> proposing = page.propose(block, open);
      const Result<std::vector<Proposal>> proposals = co_await proposing;
      if (!proposals.has_value()) co_return tl::unexpected<Error>(proposals.error());
      const auto count = static_cast<double>(steps), index = static_cast<double>(step);
      const RemaskTimes times{.alpha_t = index / count, .alpha_s = (index + 1) / count};
      const Decided decided(page, committed, at_commit);
      const std::vector<double> remask = remask_probabilities(rule, times, decided.confidences);
      const Revision revision = remask_step(page.open_positions(block, open, *proposals), stay_probability(rule, times),
                                            remask, decided.uniforms);
      for (const std::size_t place : revision.revise) page.revoke(committed[place], remask[place], "remask");
      for (const std::size_t place : revision.commit) {
        page.commit(open[place], (*proposals)[place], "remask");
        at_commit[open[place]] = (*proposals)[place].score;
      }
    }
    if (page.give_out(block.start + block.length) || page.is_finished()) break;
  }
  co_return page.finish();
}

constexpr Parameter kParameters[] = {
    {
        .name = "remask",
        .summary =
            "how likely a decided position is masked again: at most remask_eta, remask_eta of the most possible, or "
            "the most possible",
        .type = ParameterType::choice,
        .standard = std::string_view("cap"),
        .choices = "none, cap, rescale, max",
    },
    {
        .name = "remask_eta",
        .summary = "the probability, or the share of it",
        .type = ParameterType::real,
        .standard = 0.02,
        .min = 0,
        .max = 1,
    },
    {
        .name = "remask_by_confidence",
        .summary = "shares the probability out so that what was decided with doubt is masked sooner",
        .type = ParameterType::boolean,
        .standard = false,
    },
};

}  // namespace

extern constinit const DecoderDefinition decoder_remask = {
    .head = {.name = "remask",
             .aliases = "remdm",
             .summary = "fills a page in random order and masks some of it again on the way",
             .source = "arXiv 2503.00307",
             .parameters = kParameters},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
