// What lets a page change its length: cells come and go, blocks and holes follow, passes say whether the text ends on
// it (decode/page_length.h has the rules). The rest of the class is in page.cpp. Tested by
// tests/decode/test_page_length.cpp.
#include <algorithm>
#include <functional>
#include <optional>

#include "base/portable_math.h"
#include "decode/page.h"

namespace plm {

void Page::decide(std::span<const std::size_t> positions, std::span<const Proposal> proposals,
                  std::span<const std::size_t> places, std::string_view rule) {
  std::vector<std::size_t> others;  // that are no commits
  for (const std::size_t place : places) {
    const TokenId token = proposals[place].token;
    const bool is_commit = token != policy_.traits.expand_token && !is_deleted_by(positions[place], token);
    if (is_commit) commit(positions[place], proposals[place], rule);
    if (!is_commit) others.push_back(place);
  }
  // From the back, so that the positions of those to come stay.
  std::ranges::sort(others, std::greater());
  for (const std::size_t place : others) {
    const std::size_t position = positions[place];
    const bool is_expansion = proposals[place].token == policy_.traits.expand_token;
    if (is_expansion && length_.step(cells()) > 0) insert(position + 1, 1);
    if (!is_expansion) erase(position);
  }
}

// Not where the page grows by another rule, whose places would move, nor where a block's first position is decided when
// it is reached.
bool Page::takes_length_tokens() const {
  const PageLength::Rule rule = length_.rule();
  return takes_length_tokens_ && !is_spoken_for() &&
         (rule == PageLength::Rule::fixed || rule == PageLength::Rule::tokens);
}

// Where the text ends with the page, an end token ends it, whatever else it may mean.
bool Page::is_deleted_by(std::size_t position, TokenId token) const {
  if (token < 0 || token != policy_.traits.delete_token || !takes_length_tokens()) return false;
  return !is_end(token) || hole_of(position).end < end();
}

void Page::give_room(std::span<const std::size_t> positions, std::span<const Proposal> proposals) {
  const std::size_t step = length_.rule() == PageLength::Rule::expand ? length_.step(cells()) : 0;
  if (step <= 1 || !length_.is_end_uncertain(ends_)) return;
  std::optional<std::size_t> doubtful;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const bool is_open = job_.canvas.at(positions[i]).status == CellStatus::open;
    if (!is_open || proposals[i].probability >= length_.doubt()) continue;
    if (!doubtful.has_value() || proposals[i].probability < proposals[*doubtful].probability) doubtful = i;
  }
  if (doubtful.has_value()) insert(positions[*doubtful] + 1, step - 1);  // so many in its place
}

std::size_t Page::cells() const {
  std::size_t count = 0;
  for (const Region& hole : holes_) count += hole.end - hole.begin;
  return count;
}

// New open cells, which belong to the hole and the block of the cell before them.
void Page::insert(std::size_t position, std::size_t count) {
  for (std::size_t at = position; at < position + count; ++at) {
    const TokenId shown = blank(at);
    const CellId cell = job_.canvas.insert_open(at, shown);
    session_.emit({.kind = EventKind::inserted, .cell = cell, .token = shown, .position = at});
  }
  length_.added(count);
  for (Region& hole : holes_) {
    if (hole.begin >= position) hole.begin += count;
    if (hole.end >= position) hole.end += count;
  }
  for (PlannedBlock& block : blocks_) {
    if (block.start >= position) {
      block.start += count;
    } else if (block.start + block.length >= position) {
      block.length += count;
    }
  }
}

void Page::erase(std::size_t position) {
  const CellId cell = job_.canvas.at(position).id;
  job_.canvas.erase(cell);
  session_.emit({.kind = EventKind::deleted, .cell = cell, .position = position});
  for (Region& hole : holes_) {
    if (hole.begin > position) --hole.begin;
    if (hole.end > position) --hole.end;
  }
  for (PlannedBlock& block : blocks_) {
    if (block.start > position) {
      --block.start;
    } else if (block.start + block.length > position) {
      --block.length;
    }
  }
}

const PlannedBlock* Page::next_block() {
  if (next_block_ == blocks_.size() && may_grow()) {
    const std::size_t count = length_.step(cells()), start = end();
    insert(start, count);
    if (!blocks_.empty()) blocks_.back().length -= count;  // the cells are a block of their own
    blocks_.push_back({start, count, policy_.passes > 0 ? std::min(policy_.passes, count) : count});
  }
  return next_block_ < blocks_.size() ? &blocks_[next_block_++] : nullptr;
}

std::size_t Page::tail_begin() const { return end() - std::min(length_.window(), cells()); }

void Page::note_ends(std::size_t first, std::span<const std::size_t> positions, const PassAnswer& answer) {
  ends_.clear();
  for (std::size_t at = first; at < end(); ++at) {
    const Cell& cell = job_.canvas.at(at);
    ends_.push_back(cell.status == CellStatus::committed && is_end(cell.token) ? 1 : 0);
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < first) continue;
    double& sum = ends_[positions[i] - first];
    const std::vector<float>& logits = answer.results[i].values;
    for (const TokenId token : job_.end_tokens) {
      sum += exp_f64(double{logits[static_cast<std::size_t>(token)]} - answer.statistics[i].log_sum_exp);
    }
  }
}

Task<Result<void>> Page::find_length() {
  const PageLength::Rule rule = length_.rule();
  const bool predicts = rule == PageLength::Rule::predict;
  if (cells() == 0 || (!predicts && rule != PageLength::Rule::expand)) co_return Result<void>{};
  for (bool goes_on = true; goes_on;) {
    const std::size_t first = predicts ? begin_ : tail_begin();
    std::vector<std::size_t> asked;
    for (std::size_t at = first; at < end(); ++at) asked.push_back(at);
    const PassRequest request = request_for({begin_, end() - begin_, 1}, asked, Prompt::shown);
    const Task<Result<PassAnswer>> running = pass(request);
    const Result<PassAnswer> answer = co_await running;
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (answer->statistics[i].bad == 0) continue;
      co_return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                     asked[i]);
    }
    note_ends(first, asked, *answer);
    const std::size_t step = predicts || !length_.is_too_short(ends_) ? 0 : length_.step(cells());
    goes_on = step > 0;
    if (goes_on) insert(end(), step);
  }
  if (predicts) {
    for (const std::size_t wanted = begin_ + length_.predicted(ends_); end() > wanted;) erase(end() - 1);
  }
  plan();
  co_return Result<void>{};
}

bool Page::needs_logits() const {
  return !rule_.needs_only_statistics() || policy_.schedule->reads_changes() || policy_.finds_length;
}

void Page::suppress() {
  rule_.suppressed = policy_.rule.suppressed;
  const auto forbid = [&](TokenId token) {
    if (token >= 0) rule_.suppressed.push_back(token);
  };
  const bool takes = takes_length_tokens();
  if (!takes || length_.step(cells()) == 0) forbid(policy_.traits.expand_token);
  // An end token still ends a text where it cannot delete.
  if (!takes && !is_end(policy_.traits.delete_token)) forbid(policy_.traits.delete_token);
}

}  // namespace plm
