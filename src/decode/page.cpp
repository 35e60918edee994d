#include "decode/page.h"

#include <algorithm>

#include "decode/text_end.h"

namespace plm {

Page::Page(Session& session, DecodeJob& job)
    : session_(session),
      job_(job),
      policy_(*job.parallel),
      proposer_(policy_.rule),
      begin_(job.canvas.size()),
      given_out_(begin_) {}

Result<void> Page::open() {
  const std::size_t room = session_.context_length() - std::min(begin_, session_.context_length());
  if (job_.max_tokens > room) {
    return fail(ErrorKind::usage,
                "page: {} tokens behind a prompt of {}, the context holds {}; ask for at most {} or raise --context",
                job_.max_tokens, begin_, session_.context_length(), room);
  }
  // What an earlier text left was computed token after token: only models that read so can go on from it.
  if (policy_.traits.attention != DiffusionAttention::causal_context) session_.truncate_state(0);
  for (std::size_t i = 0; i < job_.max_tokens; ++i) {
    const CellId cell = job_.canvas.append_open(policy_.traits.mask_token);
    session_.emit({.kind = EventKind::inserted,
                   .cell = cell,
                   .token = policy_.traits.mask_token,
                   .position = job_.canvas.size() - 1});
  }
  return {};
}

std::vector<PlannedBlock> Page::blocks() const {
  const std::size_t length = end() - begin_;
  const std::size_t size = policy_.block_length;
  // Blocks of block-causal models are counted from the start of the sequence.
  const std::size_t ahead = policy_.traits.attention == DiffusionAttention::block_causal ? begin_ % size : 0;
  const std::size_t first = begin_ - ahead;
  std::vector<PlannedBlock> blocks =
      plan_blocks(length + (length > 0 ? ahead : 0), size, policy_.passes > 0 ? policy_.passes : length);
  for (PlannedBlock& block : blocks) block.start += first;
  return blocks;
}

std::vector<std::size_t> Page::open_in(const PlannedBlock& block) const {
  std::vector<std::size_t> positions;
  for (std::size_t at = block.start; at < block.start + block.length; ++at) {
    if (job_.canvas.at(at).status == CellStatus::open) positions.push_back(at);
  }
  return positions;
}

std::vector<std::size_t> Page::committed_in(const PlannedBlock& block) const {
  std::vector<std::size_t> positions;
  for (std::size_t at = block.start; at < block.start + block.length; ++at) {
    if (is_spoken_for() && at == block.start) continue;
    if (job_.canvas.at(at).status == CellStatus::committed) positions.push_back(at);
  }
  return positions;
}

void Page::commit(std::size_t position, const Proposal& proposal) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.commit(cell, proposal.token);
  session_.emit({.kind = EventKind::committed,
                 .cell = cell,
                 .token = proposal.token,
                 .position = position,
                 .probability = proposal.probability});
}

void Page::revoke(std::size_t position) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.revoke(cell, policy_.traits.mask_token);
  session_.emit({.kind = EventKind::revoked, .cell = cell, .token = policy_.traits.mask_token, .position = position});
}

void Page::replace(std::size_t position, const Proposal& proposal) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.replace(cell, proposal.token);
  session_.emit({.kind = EventKind::replaced,
                 .cell = cell,
                 .token = proposal.token,
                 .position = position,
                 .probability = proposal.probability});
}

Task<Result<PassAnswer>> Page::pass(const PassRequest& request) {
  const Result<PassAnswer> answer = co_await session_.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  ++passes_;
  session_.emit({.kind = EventKind::pass_ran, .rows = request.tokens.size()});
  co_return *answer;
}

Task<Result<void>> Page::reach(const PlannedBlock& block) {
  pasts_.clear();
  if (policy_.traits.attention == DiffusionAttention::full) co_return Result<void>{};
  const bool is_causal = policy_.traits.attention == DiffusionAttention::causal_context;
  const bool is_asked = is_spoken_for() && job_.canvas.at(block.start).status == CellStatus::open;
  // The row that speaks for the block may be remembered already; what it said is not.
  if (is_asked && is_causal && session_.state_length() >= block.start) session_.truncate_state(block.start - 1);
  const std::vector<TokenId> tokens = job_.canvas.tokens();
  while (session_.state_length() < block.start) {
    const std::size_t from = session_.state_length();
    const std::size_t count = is_causal ? block.start - from : std::min(policy_.block_length, block.start - from);
    std::vector<Yield> yields;
    if (is_asked && from + count == block.start) {
      yields.push_back(
          {.row = static_cast<std::uint32_t>(count - 1), .kind = yield_kind(), .without = policy_.traits.mask_token});
    }
    const PassRequest request{.tokens = std::span(tokens).subspan(from, count),
                              .state = StateUse::append,
                              .sight = is_causal ? Sight::causal : Sight::bidirectional,
                              .yields = yields};
    const Task<Result<PassAnswer>> running = pass(request);
    const Result<PassAnswer> answer = co_await running;
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    if (yields.empty()) continue;
    const Result<std::vector<Proposal>> first = read_proposals(*answer, std::span(&block.start, 1));
    if (!first.has_value()) co_return tl::unexpected<Error>(first.error());
    commit(block.start, first->front());
  }
  co_return Result<void>{};
}

YieldKind Page::yield_kind() const {
  const bool needs_logits = !policy_.rule.needs_only_statistics() || policy_.schedule->reads_changes();
  return needs_logits ? YieldKind::logits : YieldKind::statistics;
}

PassRequest Page::request_for(const PlannedBlock& block, std::span<const std::size_t> positions, Prompt prompt) {
  const bool is_full = policy_.traits.attention == DiffusionAttention::full;
  const std::size_t first = is_full ? 0 : block.start;
  const std::size_t last = is_full ? end() : block.start + block.length;
  tokens_.clear();
  for (std::size_t at = first; at < last; ++at) {
    const bool is_masked = prompt == Prompt::masked && job_.canvas.at(at).status == CellStatus::given;
    tokens_.push_back(is_masked ? policy_.traits.mask_token : token_at(at));
  }
  yields_.clear();
  for (const std::size_t position : positions) {
    const std::size_t speaker = policy_.traits.shifts_logits ? position - 1 : position;
    yields_.push_back({.row = static_cast<std::uint32_t>(speaker - first),
                       .kind = yield_kind(),
                       .without = policy_.traits.mask_token});
  }
  return {.tokens = tokens_, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields_};
}

void Page::note_change(std::size_t position, std::span<const double> log_probabilities) {
  Past& past = pasts_[position];
  if (!past.log_probabilities.empty()) past.changes.push_back(divergence(log_probabilities, past.log_probabilities));
  past.log_probabilities.assign(log_probabilities.begin(), log_probabilities.end());
}

Result<Proposal> Page::proposal_from(const RowStatistics& statistics, std::span<const float> logits,
                                     std::span<const float> unconditional, std::size_t position) {
  if (statistics.bad != 0) {
    return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                position);
  }
  const double uniform = uniform_at(position, Purpose::position);
  if (logits.empty()) return plm::propose(statistics, policy_.rule, uniform);
  noise_.clear();
  for (std::uint32_t id = 0; policy_.draws && id < logits.size(); ++id) {
    noise_.push_back(0x1p-54 + plm::uniform({.seed = job_.seed,
                                             .candidate = id,
                                             .cell = static_cast<std::uint32_t>(position),
                                             .draw = static_cast<std::uint32_t>(passes_),
                                             .purpose = Purpose::noise}));
  }
  const Proposal proposal = proposer_(logits, unconditional, noise_, uniform);
  if (policy_.schedule->reads_changes()) note_change(position, proposer_.log_probabilities());
  return proposal;
}

Task<Result<std::vector<Proposal>>> Page::propose(const PlannedBlock& block, std::span<const std::size_t> positions) {
  const PassRequest request = request_for(block, positions, Prompt::shown);
  const Task<Result<PassAnswer>> running = pass(request);
  const Result<PassAnswer> answer = co_await running;
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  std::vector<YieldResult> unconditional(positions.size());
  if (policy_.rule.guidance != 0) {
    const PassRequest without = request_for(block, positions, Prompt::masked);
    const Task<Result<PassAnswer>> running_without = pass(without);
    Result<PassAnswer> found = co_await running_without;
    if (!found.has_value()) co_return tl::unexpected<Error>(found.error());
    unconditional = std::move(found->results);
  }
  co_return read_proposals(*answer, positions, unconditional);
}

Result<std::vector<Proposal>> Page::read_proposals(const PassAnswer& answer, std::span<const std::size_t> positions,
                                                   std::span<const YieldResult> unconditional) {
  std::vector<Proposal> proposals;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::span<const float> without = unconditional.empty() ? std::span<const float>() : unconditional[i].values;
    PLM_TRY_ASSIGN(const Proposal proposal,
                   proposal_from(answer.statistics[i], answer.results[i].values, without, positions[i]));
    proposals.push_back(proposal);
    session_.emit({.kind = EventKind::proposed,
                   .cell = job_.canvas.at(positions[i]).id,
                   .token = proposal.token,
                   .position = positions[i],
                   .probability = proposal.probability});
  }
  return proposals;
}

double Page::uniform_at(std::size_t position, Purpose purpose) const {
  return 0x1p-54 + plm::uniform({.seed = job_.seed,
                                 .cell = static_cast<std::uint32_t>(position),
                                 .draw = static_cast<std::uint32_t>(passes_),
                                 .purpose = purpose});
}

std::span<const OpenPosition> Page::open_positions(const PlannedBlock& block, std::span<const std::size_t> positions,
                                                   std::span<const Proposal> proposals) {
  open_positions_.clear();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    OpenPosition open{.position = positions[i] - block.start,
                      .score = proposals[i].score,
                      .entropy = proposals[i].entropy,
                      .uniform = uniform_at(positions[i], Purpose::gate)};
    if (const auto past = pasts_.find(positions[i]); past != pasts_.end()) open.changes = past->second.changes;
    open_positions_.push_back(open);
  }
  return open_positions_;
}

bool Page::is_finished() const { return text_end(written(), job_.end_tokens).is_finished; }

bool Page::give_out(std::size_t until) {
  if (outcome_.reason != FinishReason::none) return true;
  for (; given_out_ < until && job_.canvas.at(given_out_).status == CellStatus::committed; ++given_out_) {
    const TokenId token = token_at(given_out_);
    if (std::ranges::find(job_.end_tokens, token) != job_.end_tokens.end()) {
      outcome_.reason = FinishReason::end_of_text;
      return true;
    }
    outcome_.tokens.push_back(token);
    std::string text = job_.text.push(token);
    if (!text.empty()) session_.emit({.kind = EventKind::stable_prefix, .text = std::move(text)});
    if (job_.text.stopped()) {
      outcome_.reason = FinishReason::stop;
      return true;
    }
  }
  return false;
}

DecodeOutcome Page::finish() {
  give_out(end());
  if (outcome_.reason == FinishReason::none) outcome_.reason = FinishReason::length;
  std::string text = job_.text.finish();
  if (!text.empty()) session_.emit({.kind = EventKind::stable_prefix, .text = std::move(text)});
  session_.emit({.kind = EventKind::finished, .reason = outcome_.reason});
  return outcome_;
}

}  // namespace plm
