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

// Rows of recurrent layers come one after another: none can see a later one, or leave one before it out.
bool is_in_order(const PassRequest& request) { return request.sight == Sight::causal || request.tokens.size() == 1; }

}  // namespace

void Scheduler::Batch::clear() {
  slices.clear();
  copies.clear();
  tokens.clear();
  positions.clear();
  types.clear();
  soft_tokens.clear();
  sights.clear();
  pages.clear();
  bits.clear();
  runs.clear();
  saves.clear();
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
  // Who writes token after token goes before who reads a prompt: the one row costs little, and somebody watches it.
  // Unless there are so many that no prompt would be read.
  const auto writes = [](const EngineSession* session) {
    return session->waiting_->request->tokens.size() == 1 && session->state_.length() == session->state_length();
  };
  if (2 * static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), writes)) <= batch_rows_) {
    auto reader = waiting_.begin();
    for (auto session = waiting_.begin(); session != waiting_.end(); ++session) {
      if (writes(*session)) std::rotate(reader++, session, session + 1);
    }
  }
  while (served_ < waiting_.size() && batch_.tokens.size() < batch_rows_ && add_slice(*waiting_[served_])) ++served_;
}

// Adds the next rows of the session; false when its pass must wait for a batch of its own.
bool Scheduler::add_slice(EngineSession& session) {
  EngineSession::Waiting& waiting = *session.waiting_;
  const PassRequest& request = *waiting.request;
  if (session.state_.recurrent() != nullptr && !is_in_order(request)) {
    waiting.error = Error{ErrorKind::usage,
                          "pass: its rows see others than those before them, expected none to with recurrent layers; "
                          "choose a decoder that writes one token after another"};
    return true;
  }
  if (session.state_.length() < session.state_length()) return add_past(session);
  const std::size_t room = batch_rows_ - batch_.tokens.size();
  const std::size_t rest = request.tokens.size() - waiting.rows_done;
  if (rest > room && !can_be_cut(request) && !batch_.tokens.empty()) return false;
  const std::size_t count = can_be_cut(request) ? std::min(rest, room) : rest;

  if (!reserve(session, count, request.state == StateUse::append ? CellUse::kept : CellUse::forgotten)) return true;
  Slice slice{&session, waiting.rows_done, count, batch_.yields.size(), 0, false};
  const auto first_row = static_cast<std::uint32_t>(batch_.tokens.size());
  for (const Yield& yield : request.yields) {
    if (yield.row < slice.first_row || yield.row >= slice.first_row + count) continue;
    const auto row_in_slice = static_cast<std::uint32_t>(yield.row - slice.first_row);
    batch_.yields.push_back(yield);
    batch_.yields.back().row = first_row + row_in_slice;
  }
  slice.yield_count = batch_.yields.size() - slice.first_yield;
  const auto tokens = request.tokens.subspan(slice.first_row, count);
  batch_.tokens.insert(batch_.tokens.end(), tokens.begin(), tokens.end());
  if (!request.types.empty()) {
    const auto types = request.types.subspan(slice.first_row, count);
    batch_.types.insert(batch_.types.end(), types.begin(), types.end());
  }
  batch_.types.resize(batch_.tokens.size(), 0);
  if (!request.soft_tokens.empty()) {
    batch_.soft_tokens.resize(first_row);
    const auto soft_tokens = request.soft_tokens.subspan(slice.first_row, count);
    batch_.soft_tokens.insert(batch_.soft_tokens.end(), soft_tokens.begin(), soft_tokens.end());
  }
  add_sights(session, slice);
  add_run(session, count);
  batch_.pages.push_back(session.state_.storages());
  batch_.slices.push_back(slice);
  return true;
}

// Adds the next rows of what must be computed again.
bool Scheduler::add_past(EngineSession& session) {
  const std::size_t first = session.state_.length();
  const std::size_t count = std::min(session.past_.size() - first, batch_rows_ - batch_.tokens.size());
  if (!reserve(session, count, CellUse::kept)) return true;
  for (std::size_t cell = first; cell < first + count; ++cell) {
    const auto slot = static_cast<std::uint32_t>(cell);
    batch_.tokens.push_back(session.past_[cell].token);
    batch_.positions.push_back(session.past_[cell].position);
    batch_.sights.push_back(
        {.sequence = static_cast<std::uint32_t>(batch_.slices.size()), .slot = slot, .end = slot + 1});
  }
  add_run(session, count);
  batch_.pages.push_back(session.state_.storages());
  batch_.slices.push_back({&session, first, count, batch_.yields.size(), 0, true});
  return true;
}

// False: there is no room, which the session is told.
bool Scheduler::reserve(EngineSession& session, std::size_t count, CellUse use) {
  auto reserved = session.state_.reserve(count, batch_.copies, use);
  if (!reserved.has_value()) session.waiting_->error = std::move(reserved).error();
  return reserved.has_value();
}

// The last `count` rows, as recurrent layers see them.
void Scheduler::add_run(const EngineSession& session, std::size_t count) {
  const RecurrentMemory* memory = session.state_.recurrent();
  if (memory == nullptr) return;
  const std::size_t first_row = batch_.tokens.size() - count;
  const std::size_t first_save = batch_.saves.size();
  for (const RecurrentMemory::Save& save : memory->saves()) {
    batch_.saves.push_back({static_cast<std::uint32_t>(first_row + save.length - memory->length() - 1), save.to});
  }
  batch_.runs.push_back({.first_row = static_cast<std::uint32_t>(first_row),
                         .row_count = static_cast<std::uint32_t>(count),
                         .first_save = static_cast<std::uint32_t>(first_save),
                         .save_count = static_cast<std::uint32_t>(memory->saves().size()),
                         .begins = memory->length() == 0,
                         .block = memory->block()});
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
    RowSight sight{.sequence = static_cast<std::uint32_t>(batch_.slices.size()),
                   .slot = base + row,
                   .begin = static_cast<std::uint32_t>(request.seen_from)};
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
  if (!batch_.soft_tokens.empty()) batch_.soft_tokens.resize(batch_.tokens.size());
  const PassRows rows{
      .tokens = batch_.tokens,
      .positions = batch_.positions,
      .table = {.rows = batch_.sights,
                .pages = batch_.pages,
                .own_bits = batch_.bits,
                .runs = batch_.runs,
                .saves = batch_.saves},
      .types = batch_.types,
      .soft_tokens = batch_.soft_tokens,
      .yields = batch_.yields,
      .statistics = batch_.statistics,
      .results = batch_.results,
  };
  if (watch_.on_pass) watch_.on_pass(rows);
  PLM_TRY(parts_.model.enqueue(rows, parts_.layout, watch_.probe));
  return parts_.device.wait();
}

void Scheduler::deliver() {
  for (const Slice& slice : batch_.slices) {
    EngineSession& session = *slice.session;
    EngineSession::Waiting& waiting = *session.waiting_;
    if (slice.is_again) {
      session.state_.keep(slice.row_count);
      continue;
    }
    if (waiting.request->state == StateUse::append) {
      session.remember(*waiting.request, slice.first_row, slice.row_count);
    } else {
      session.state_.discard();
    }
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
