// The scheduler: collects the passes that sessions wait for and runs them as one batch (continuous batching).
//
// Rows of all waiting sessions share the linear layers; attention is per sequence. Long causal passes are cut into
// chunks, so that a newcomer's prompt does not hold up those who write. None of this changes a bit of any answer
// (DESIGN section 4): the scheduler decides when, never what.
//
// Sessions are served round-robin from where the last batch stopped; a batch holds at most `batch_rows` rows; a pass
// that cannot be cut (rows that see later rows) goes in whole, alone if need be. A decoder that runs on may submit its
// next pass and may destroy other sessions, not its own. Not thread-safe: one thread submits and steps.
// Tested by tests/engine/test_scheduler.cpp.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "model/model.h"
#include "state/page_pool.h"
#include "state/sequence_state.h"

namespace plm {

class EngineSession;

class Scheduler {
 public:
  struct Parts {
    Device& device;
    Model& model;
    const StateLayout& layout;
  };

  Scheduler(const Parts& parts, std::size_t batch_rows) : parts_(parts), batch_rows_(batch_rows) {}

  [[nodiscard]] bool idle() const { return waiting_.empty(); }

  /// Runs one batch and resumes the decoders whose passes are complete. Errors of one session (no room for its state)
  /// reach that session's decoder; an error returned here is the device's and ends everything.
  Result<void> step();

  /// Has every pass looked at; an empty watch: none.
  void watch(PassWatch watch) { watch_ = std::move(watch); }

  // Called by sessions.
  void add(EngineSession& session) { waiting_.push_back(&session); }
  void remove(EngineSession& session);

 private:
  // One session's part of the batch.
  struct Slice {
    EngineSession* session;
    std::size_t first_row;  // within the session's request
    std::size_t row_count;
    std::size_t first_yield;  // within the batch
    std::size_t yield_count;
    bool is_again;  // rows of the session's past, computed again; `first_row` counts cells
  };

  // Everything the device reads until `wait`; members, so that the memory is reused.
  struct Batch {
    std::vector<Slice> slices;
    std::vector<PageCopy> copies;
    std::vector<std::int32_t> tokens;
    std::vector<std::uint32_t> positions;
    std::vector<std::int32_t> types;
    std::vector<std::span<const float>> soft_tokens;  // empty: no row has one
    std::vector<RowSight> sights;
    std::vector<std::span<Storage* const>> pages;
    std::vector<std::uint64_t> bits;
    std::vector<RecurrentRun> runs;
    std::vector<RecurrentSave> saves;
    std::vector<Yield> yields;
    std::vector<RowStatistics> statistics;
    std::vector<YieldResult> results;
    void clear();
  };

  void collect();
  bool add_slice(EngineSession& session);
  bool add_past(EngineSession& session);
  bool reserve(EngineSession& session, std::size_t count, CellUse use);
  void add_run(const EngineSession& session, std::size_t count);
  void add_sights(const EngineSession& session, const Slice& slice);
  Result<void> run_batch();
  void deliver();

  Parts parts_;
  std::size_t batch_rows_;
  std::vector<EngineSession*> waiting_;  // whose turn it is first
  std::size_t served_ = 0;               // this many of the first are in the batch, or have failed
  std::vector<EngineSession*> ready_;    // passes complete, decoders not resumed yet
  Batch batch_;
  PassWatch watch_;
};

}  // namespace plm
