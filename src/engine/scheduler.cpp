#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/engine_session.h"

namespace plm {
namespace {

constexpr std::size_t kWordBits = 64;

// A pass may be cut into chunks when no row sees a later one and what a chunk computes stays for the next.
bool can_be_cut(const PassRequest& request) {
  return request.sight == Sight::causal && request.state == StateUse::append;
}

}  // namespace

void Scheduler::Batch::clear() {
  slices.clear();
  copies.clear();
  tokens.clear();
  positions.clear();
  sights.clear();
  pages.clear();
  bits.clear();
  yields.clear();
}

void Scheduler::remove(EngineSession& session) {
  std::erase(waiting_, &session);
  std::erase(ready_, &session);
}

Result<void> Scheduler::step() {
  collect();
  if (!batch_.slices.empty()) PLM_TRY(run_batch());
  deliver();
  return {};
}

void Scheduler::collect() {
  batch_.clear();
  served_ = 0;
  while (served_ < waiting_.size() && batch_.tokens.size() < batch_rows_ && add_slice(*waiting_[served_])) ++served_;
}

// Adds the next rows of the session; false when its pass must wait for a batch of its own.
bool Scheduler::add_slice(EngineSession& session) {
  EngineSession::Waiting& waiting = *session.waiting_;
  const PassRequest& request = *waiting.request;
  const std::size_t room = batch_rows_ - batch_.tokens.size();
  const std::size_t rest = request.tokens.size() - waiting.rows_done;
  if (rest > room && !can_be_cut(request) && !batch_.tokens.empty()) return false;
  const std::size_t count = can_be_cut(request) ? std::min(rest, room) : rest;

  if (auto reserved = session.state_.reserve(count, batch_.copies); !reserved.has_value()) {
    waiting.error = std::move(reserved).error();
    return true;
  }
  Slice slice{&session, waiting.rows_done, count, batch_.yields.size(), 0};
  const auto first_row = static_cast<std::uint32_t>(batch_.tokens.size());
  for (const Yield& yield : request.yields) {
    if (yield.row < slice.first_row || yield.row >= slice.first_row + count) continue;
    const auto row_in_slice = static_cast<std::uint32_t>(yield.row - slice.first_row);
    batch_.yields.push_back({first_row + row_in_slice, yield.kind, yield.n});
  }
  slice.yield_count = batch_.yields.size() - slice.first_yield;
  const auto tokens = request.tokens.subspan(slice.first_row, count);
  batch_.tokens.insert(batch_.tokens.end(), tokens.begin(), tokens.end());
  add_sights(session, slice);
  batch_.pages.push_back(session.state_.storages());
  batch_.slices.push_back(slice);
  return true;
}

void Scheduler::add_sights(const EngineSession& session, const Slice& slice) {
  const PassRequest& request = *session.waiting_->request;
  const auto base = static_cast<std::uint32_t>(session.state_.length());  // slot of the slice's first row
  const auto count = static_cast<std::uint32_t>(slice.row_count);
  const std::size_t words = (request.tokens.size() + kWordBits - 1) / kWordBits;
  const auto first_word = static_cast<std::uint32_t>(batch_.bits.size());
  if (request.sight == Sight::by_bits) {
    PLM_CHECK(request.sight_bits.size() == words * request.tokens.size());
    batch_.bits.insert(batch_.bits.end(), request.sight_bits.begin(), request.sight_bits.end());
  }
  for (std::uint32_t row = 0; row < count; ++row) {
    RowSight sight{.sequence = static_cast<std::uint32_t>(batch_.slices.size()), .slot = base + row};
    switch (request.sight) {
      case Sight::causal: sight.end = base + row + 1; break;
      case Sight::bidirectional: sight.end = base + count; break;
      case Sight::by_bits:
        sight.end = base;
        sight.own_begin = base;
        sight.own_count = count;
        sight.own_bits_word = first_word + static_cast<std::uint32_t>(row * words);
        break;
    }
    batch_.sights.push_back(sight);
    batch_.positions.push_back(request.positions.empty() ? base + row : request.positions[slice.first_row + row]);
  }
}

Result<void> Scheduler::run_batch() {
  for (const PageCopy& copy : batch_.copies) parts_.device.copy(*copy.to, *copy.from);
  batch_.statistics.assign(batch_.yields.size(), {});
  batch_.results.assign(batch_.yields.size(), {});
  const PassRows rows{
      .tokens = batch_.tokens,
      .positions = batch_.positions,
      .table = {.rows = batch_.sights, .pages = batch_.pages, .own_bits = batch_.bits},
      .yields = batch_.yields,
      .statistics = batch_.statistics,
      .results = batch_.results,
  };
  PLM_TRY(parts_.model.enqueue(rows, parts_.layout));
  return parts_.device.wait();
}

void Scheduler::deliver() {
  for (const Slice& slice : batch_.slices) {
    EngineSession::Waiting& waiting = *slice.session->waiting_;
    if (waiting.request->state == StateUse::append) slice.session->state_.keep(slice.row_count);
    for (std::size_t i = slice.first_yield; i < slice.first_yield + slice.yield_count; ++i) {
      waiting.answer.statistics.push_back(batch_.statistics[i]);
      waiting.answer.results.push_back(std::move(batch_.results[i]));
    }
    waiting.rows_done += slice.row_count;
  }
  // Those served go behind those who still wait, or run on. A decoder that runs may submit again and may destroy other
  // sessions, also ready ones, so both queues are in order before the first one is resumed.
  for (std::size_t i = 0; i < served_; ++i) {
    EngineSession* session = waiting_[i];
    const EngineSession::Waiting& waiting = *session->waiting_;
    const bool is_complete = waiting.error.has_value() || waiting.rows_done == waiting.request->tokens.size();
    (is_complete ? ready_ : waiting_).push_back(session);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::exchange(served_, 0)));
  while (!ready_.empty()) {
    const std::coroutine_handle<> waiter = ready_.front()->waiting_->waiter;
    ready_.erase(ready_.begin());
    // A decoder that waits for several sessions runs on when the last of them is ready.
    const auto is_waited_for = [&](const EngineSession* other) { return other->waiting_->waiter == waiter; };
    if (std::any_of(ready_.begin(), ready_.end(), is_waited_for)) continue;
    if (std::any_of(waiting_.begin(), waiting_.end(), is_waited_for)) continue;
    waiter.resume();
  }
}

}  // namespace plm
