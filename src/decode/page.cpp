#include "decode/page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/text_end.h"

namespace plm {

Page::Page(Session& session, DecodeJob& job)
    : session_(session),
      job_(job),
      policy_(*job.parallel),
      rule_(policy_.rule),
      proposer_(rule_),
      begin_(job.canvas.size()),
      given_out_(begin_) {}

Result<void> Page::open() {
  std::size_t given = 0, wanted = is_infill() ? 0 : job_.max_tokens;
  for (const Hole& hole : job_.holes) {
    if (hole.length == 0 || hole.position < given || hole.position > begin_) {
      return fail(ErrorKind::usage, "hole of {} tokens behind {} given ones: at least 1, in order, up to the {} given",
                  hole.length, hole.position, begin_);
    }
    given = hole.position;
    wanted += std::min(hole.length, std::numeric_limits<std::size_t>::max() - wanted);
  }
  if (is_infill() && policy_.traits.shifts_logits && job_.holes.front().position == 0) {
    return fail(ErrorKind::usage, "hole at the start of the text: this model needs a token before the first one");
  }
  if (takes_noise_ != (policy_.traits.noise == DiffusionNoise::uniform)) {
    return fail(ErrorKind::usage, "this model has {} at undecided positions; use the decoder {}",
                takes_noise_ ? "a mask token" : "noise", takes_noise_ ? "diffusion" : "uniform");
  }
  const std::size_t taken = begin_ + (policy_.traits.closing_token >= 0 ? 1 : 0);
  const std::size_t room = session_.context_length() - std::min(taken, session_.context_length());
  if (wanted > room) {
    return fail(ErrorKind::usage, "page: {} tokens {} {}, the context holds {}; ask for at most {} or raise --context",
                wanted, is_infill() ? "in holes of a text of" : "behind a prompt of", begin_, session_.context_length(),
                room);
  }
  // What an earlier text left was computed token after token: only models that read so can go on from it.
  if (policy_.traits.attention != DiffusionAttention::causal_context) session_.truncate_state(0);
  PLM_TRY(open_cache());
  PLM_TRY_ASSIGN(length_, PageLength::create(job_));
  if (!is_infill()) open_hole({begin_, length_.first(job_.max_tokens)});
  for (const Hole& hole : job_.holes) open_hole({hole.position, length_.first(hole.length)});
  length_.added(cells());
  begin_ = given_out_ = holes_.front().begin;
  session_.truncate_state(std::min(session_.state_length(), begin_));
  suppress();
  plan();
  return {};
}

Result<void> Page::open_cache() {
  if (policy_.cache.kind == PageCacheRule::Kind::exact) return {};
  if (!takes_cache_) {
    return fail(ErrorKind::usage,
                "page_cache: this decoder looks at more than a cache holds; use the decoder diffusion");
  }
  if (policy_.finds_length || policy_.rule.guidance != 0) {
    return fail(ErrorKind::usage, "page_cache: does not go with {}; leave one of them out",
                policy_.finds_length ? "--length auto" : "--page-guidance");
  }
  cache_.emplace(policy_.cache);
  return {};
}

void Page::open_hole(const Hole& hole) {
  const std::size_t first =
      hole.position + (holes_.empty() ? 0 : holes_.back().end - job_.holes[holes_.size() - 1].position);
  for (std::size_t at = first; at < first + hole.length; ++at) {
    const TokenId shown = blank(at);
    const CellId cell = job_.canvas.insert_open(at, shown);
    session_.emit({.kind = EventKind::inserted, .cell = cell, .token = shown, .position = at});
  }
  holes_.push_back({first, first + hole.length});
}

void Page::plan() {
  const std::size_t length = end() - begin_;
  const std::size_t size = policy_.block_length;
  // Blocks of block-causal models are counted from the start of the sequence.
  const std::size_t ahead = policy_.traits.attention == DiffusionAttention::block_causal ? begin_ % size : 0;
  const std::size_t first = begin_ - ahead;
  const std::size_t passes = policy_.passes > 0 ? policy_.passes : length;
  blocks_.clear();
  for (PlannedBlock block : plan_blocks(length + (length > 0 ? ahead : 0), size, passes)) {
    block.start += first;
    blocks_.push_back(block);
  }
  if (!is_infill()) return;
  // Only blocks in which something is to be written share the passes.
  std::erase_if(blocks_, [&](const PlannedBlock& block) { return open_in(block).empty(); });
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::size_t open = open_in(blocks_[i]).size();
    const std::size_t share = policy_.passes > 0 ? equal_share(policy_.passes, blocks_.size(), i) : open;
    blocks_[i].passes = std::clamp<std::size_t>(share, 1, open);
  }
}

bool Page::is_end(TokenId token) const { return std::ranges::find(job_.end_tokens, token) != job_.end_tokens.end(); }

const Page::Region& Page::hole_of(std::size_t position) const {
  return *std::ranges::upper_bound(holes_, position, {}, &Region::end);
}

std::vector<std::size_t> Page::open_in(const PlannedBlock& block) const {
  std::vector<std::size_t> positions;
  for (const Region& hole : holes_) {
    if (is_infill() && text_end(cells_of(hole), job_.end_tokens).is_finished) continue;
    const std::size_t end = std::min(hole.end, block.start + block.length);
    for (std::size_t at = std::max(hole.begin, block.start); at < end; ++at) {
      if (job_.canvas.at(at).status == CellStatus::open) positions.push_back(at);
    }
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

void Page::commit(std::size_t position, const Proposal& proposal, std::string_view rule) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.commit(cell, proposal.token);
  session_.emit({.kind = EventKind::committed,
                 .cell = cell,
                 .token = proposal.token,
                 .position = position,
                 .probability = proposal.probability,
                 .rule = rule});
}

void Page::revoke(std::size_t position, double probability, std::string_view rule) {
  const CellId cell = job_.canvas.at(position).id;
  const TokenId shown = blank(position);
  job_.canvas.revoke(cell, shown);
  session_.emit({.kind = EventKind::revoked,
                 .cell = cell,
                 .token = shown,
                 .position = position,
                 .probability = probability,
                 .rule = rule});
}

void Page::renoise(std::size_t position) { job_.canvas.show(job_.canvas.at(position).id, blank(position)); }

TokenId Page::blank(std::size_t position) const {
  if (policy_.traits.noise == DiffusionNoise::mask) return policy_.traits.mask_token;
  const double number = plm::uniform({.seed = job_.seed,
                                      .candidate = 1,
                                      .cell = static_cast<std::uint32_t>(position),
                                      .draw = static_cast<std::uint32_t>(passes_),
                                      .purpose = Purpose::gate});
  return static_cast<TokenId>(number * static_cast<double>(job_.text.vocabulary().size()));
}

void Page::replace(std::size_t position, const Proposal& proposal, std::string_view rule) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.replace(cell, proposal.token);
  session_.emit({.kind = EventKind::replaced,
                 .cell = cell,
                 .token = proposal.token,
                 .position = position,
                 .probability = proposal.probability,
                 .rule = rule});
}

Task<Result<PassAnswer>> Page::run(const PassRequest& request) {
  const std::size_t reused = session_.state_length() - request.seen_from;
  const Result<PassAnswer> answer = co_await session_.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  session_.emit({.kind = EventKind::pass_ran, .rows = request.tokens.size(), .reused = reused});
  co_return *answer;
}

Task<Result<PassAnswer>> Page::pass(const PassRequest& request) {
  const Task<Result<PassAnswer>> running = run(request);
  const Result<PassAnswer> answer = co_await running;
  ++passes_;
  co_return answer;
}

void Page::note_change(std::size_t position, std::span<const double> log_probabilities) {
  Past& past = pasts_[job_.canvas.at(position).id];
  if (!past.log_probabilities.empty()) past.changes.push_back(divergence(log_probabilities, past.log_probabilities));
  past.log_probabilities.assign(log_probabilities.begin(), log_probabilities.end());
}

Result<Proposal> Page::proposal_from(const RowStatistics& statistics, std::span<const float> logits,
                                     std::span<const float> unconditional, std::size_t position) {
  if (statistics.bad != 0) {
    return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                position);
  }
  if (!std::isfinite(statistics.max)) {
    return fail(ErrorKind::failed, "position {}: the network leaves no token but the mask token; check the model file",
                position);
  }
  const double uniform = uniform_at(position, Purpose::position);
  if (logits.empty()) return plm::propose(statistics, rule_, uniform);
  noise_.clear();
  for (std::uint32_t id = 0; policy_.draws && id < logits.size(); ++id) {
    noise_.push_back(0x1p-54 + plm::uniform({.seed = job_.seed,
                                             .candidate = id,
                                             .cell = static_cast<std::uint32_t>(position),
                                             .draw = static_cast<std::uint32_t>(passes_),
                                             .purpose = Purpose::noise}));
  }
  const Proposal proposal = proposer_(logits, unconditional, noise_, uniform);
  if (proposal.token == kNoToken) {
    return fail(ErrorKind::failed,
                "position {}: the network leaves no token that may stand there; check the model file", position);
  }
  if (policy_.schedule->reads_changes()) note_change(position, proposer_.log_probabilities());
  return proposal;
}

Task<Result<std::vector<Proposal>>> Page::propose(const PlannedBlock& block, std::span<const std::size_t> positions) {
  suppress();
  if (cache_.has_value()) {
    const Task<Result<std::vector<Proposal>>> proposing = propose_cached(block, positions);
    Result<std::vector<Proposal>> proposals = co_await proposing;
    co_return proposals;
  }
  // Behind the block the last positions are asked whether the text ends there.
  std::vector<std::size_t> asked(positions.begin(), positions.end());
  if (length_.rule() == PageLength::Rule::expand) {
    for (std::size_t at = std::max(tail_begin(), block.start + block.length); at < end(); ++at) {
      if (job_.canvas.at(at).status == CellStatus::open) asked.push_back(at);
    }
  }
  const PassRequest request = request_for(block, asked, Prompt::shown);
  const Task<Result<PassAnswer>> running = pass(request);
  const Result<PassAnswer> answer = co_await running;
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  if (request.state == StateUse::append) session_.truncate_state(block.start);
  if (length_.rule() == PageLength::Rule::expand) note_ends(tail_begin(), asked, *answer);
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
                   .probability = proposal.probability,
                   .score = proposal.score,
                   .entropy = proposal.entropy});
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
    if (const auto past = pasts_.find(job_.canvas.at(positions[i]).id); past != pasts_.end())
      open.changes = past->second.changes;
    open_positions_.push_back(open);
  }
  return open_positions_;
}

bool Page::is_finished() const {
  // Text that fills a page which may grow has not ended.
  if (may_grow() && text_end(cells_of(holes_.back()), job_.end_tokens).length == cells()) return false;
  return std::ranges::all_of(holes_,
                             [&](const Region& hole) { return text_end(cells_of(hole), job_.end_tokens).is_finished; });
}

bool Page::give_out(std::size_t until) {
  if (outcome_.reason != FinishReason::none) return true;
  while (given_out_ < until && job_.canvas.at(given_out_).status != CellStatus::open) {
    const Cell& cell = job_.canvas.at(given_out_);
    if (cell.status == CellStatus::committed && is_end(cell.token)) {
      given_out_ = hole_of(given_out_).end;
      if (given_out_ < end()) continue;  // the text goes on behind the hole
      outcome_.reason = FinishReason::end_of_text;
      return true;
    }
    ++given_out_;
    if (cell.status == CellStatus::committed) outcome_.tokens.push_back(cell.token);
    std::string text = job_.text.push(cell.token);
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
  for (const Region& hole : holes_) {
    if (!is_infill()) break;
    std::vector<TokenId>& tokens = outcome_.holes.emplace_back();
    for (const Cell& cell : cells_of(hole)) {
      if (cell.status != CellStatus::committed || is_end(cell.token)) break;
      tokens.push_back(cell.token);
    }
  }
  return outcome_;
}

}  // namespace plm
