// One token after another: a pass over what is new, a draw from the last row, a commit; the canvas keeps exactly one
// open cell at its end. Source: datasheet, causal decoding. Tested by tests/decode/test_decoder_autoregressive.cpp and
// the golden trajectories in tests/engine/.
#include <algorithm>

#include "decode/decoder.h"

namespace plm {
namespace {

/// Chooses the token of the open cell at `position` from the answer of the last row.
Result<Selection> choose(DecodeJob& job, const PassAnswer& answer, std::size_t position) {
  // As large as the vocabulary and of no use between two choices: one a thread serves all sequences.
  static thread_local Candidates workspace;
  const RowStatistics& statistics = answer.statistics.front();
  if (statistics.bad != 0) {
    return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                position);
  }
  if (job.chain.is_greedy()) return Selection{statistics.argmax, 1.0, 0.0, 1};
  const DrawPlace place{.seed = job.seed, .cell = static_cast<std::uint32_t>(position)};
  return job.chain.select(answer.results.front().values, place, workspace);
}

/// Why the text ends after the token just committed; none when it goes on.
FinishReason reason_to_stop(const Session& session, const DecodeJob& job, std::size_t written) {
  if (job.text.stopped()) return FinishReason::stop;
  if (written >= job.max_tokens) return FinishReason::length;
  if (job.canvas.size() >= session.context_length()) return FinishReason::context;
  return FinishReason::none;
}

void emit_text(Session& session, std::string text) {
  if (!text.empty()) session.emit({.kind = EventKind::stable_prefix, .text = std::move(text)});
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  DecodeOutcome outcome;
  const std::vector<TokenId> prompt = job.canvas.tokens();
  job.chain.begin(prompt);
  PLM_CHECK(session.state_length() < prompt.size());  // one row at least must be computed to draw from
  std::vector<TokenId> unseen(prompt.begin() + static_cast<std::ptrdiff_t>(session.state_length()), prompt.end());
  const YieldKind kind = job.chain.is_greedy() ? YieldKind::statistics : YieldKind::logits;
  if (job.max_tokens == 0) outcome.reason = FinishReason::length;
  if (job.canvas.size() >= session.context_length()) outcome.reason = FinishReason::context;

  while (outcome.reason == FinishReason::none) {
    const std::size_t position = job.canvas.size();
    const CellId cell = job.canvas.append_open(kNoToken);
    session.emit({.kind = EventKind::inserted, .cell = cell, .position = position});

    const Yield yield{.row = static_cast<std::uint32_t>(unseen.size() - 1), .kind = kind};
    const PassRequest request{.tokens = unseen, .yields = std::span(&yield, 1)};
    const Result<PassAnswer> answer = co_await session.pass(request);
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    session.emit({.kind = EventKind::pass_ran, .rows = unseen.size()});

    const Result<Selection> chosen = choose(job, *answer, position);
    if (!chosen.has_value()) co_return tl::unexpected<Error>(chosen.error());
    job.canvas.commit(cell, chosen->id);
    job.chain.accept(chosen->id);
    session.emit({.kind = EventKind::committed,
                  .cell = cell,
                  .token = chosen->id,
                  .position = position,
                  .probability = chosen->probability});

    if (std::find(job.end_tokens.begin(), job.end_tokens.end(), chosen->id) != job.end_tokens.end()) {
      outcome.reason = FinishReason::end_of_text;
      break;
    }
    outcome.tokens.push_back(chosen->id);
    emit_text(session, job.text.push(chosen->id));
    outcome.reason = reason_to_stop(session, job, outcome.tokens.size());
    unseen.assign(1, chosen->id);
  }
  emit_text(session, job.text.finish());
  session.emit({.kind = EventKind::finished, .reason = outcome.reason});
  co_return outcome;
}

}  // namespace

extern constinit const DecoderDefinition decoder_autoregressive = {
    .head = {.name = "autoregressive",
             .aliases = "ar, causal",
             .summary = "one token after another, each drawn from the row before it",
             .source = "datasheet, causal decoding"},
    .run = run,
};

}  // namespace plm
