// What recurrent layers remember of one sequence: a block of numbers that every row changes, and copies of it at a few
// earlier lengths, from which a shorter past can be had again.
//
// Invariants
//  1. The block is that of the first `length()` cells. It is shared with forks and checkpoints until a pass writes to
//     it (copy-on-write); a pass whose rows are thrown away writes to a copy.
//  2. Checkpoints are never written to after the pass that filled them. There are at most kMostCheckpoints, spread so
//     that the way from one to the next is short beside the way back to it: going back a little is cheap, going back
//     far costs no more than a share of that.
// Checkpoints are made at page borders, and before the last of several rows: where a text ends whose last row is
// computed once more. Who needs memory for something else may go without: no checkpoint is an error.
// Tested by tests/state/test_recurrent_memory.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "state/page_pool.h"

namespace plm {

class RecurrentMemory {
 public:
  static constexpr std::size_t kMostCheckpoints = 4;
  /// Blocks that one sequence takes at most: its own, one for rows that are thrown away, checkpoints.
  static constexpr std::size_t kMostBlocks = kMostCheckpoints + 2;

  /// A block that the pass must fill with what is remembered of the first `length` cells.
  struct Save {
    std::size_t length;
    Storage* to;
  };

  explicit RecurrentMemory(PagePool& pool) : pool_(&pool) {}
  RecurrentMemory(RecurrentMemory&&) = default;
  RecurrentMemory& operator=(RecurrentMemory&&) = default;

  /// A block for the next pass where one is needed, else null; changes nothing. `is_kept`: the rows will be remembered.
  Result<Page> take(bool is_kept);
  /// Prepares a pass of `count` rows with the block that `take` gave; the copy it needs is appended to `copies`.
  void prepare(std::size_t count, bool is_kept, Page taken, std::vector<PageCopy>& copies);
  /// What the prepared pass writes to, and the checkpoints it must fill, ascending by length.
  [[nodiscard]] Storage* block() const { return scratch_ != nullptr ? scratch_.get() : block_.get(); }
  [[nodiscard]] std::span<const Save> saves() const { return saves_; }

  /// The pass ran: its first `count` rows, all of them, are remembered.
  void keep(std::size_t count);
  /// The pass ran, and its rows are forgotten.
  void discard();

  /// The largest length up to `length` whose past is there.
  [[nodiscard]] std::size_t reachable(std::size_t length) const;
  /// Goes back to a reachable length.
  void truncate(std::size_t length);
  [[nodiscard]] RecurrentMemory fork() const;

  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::size_t checkpoint_count() const { return checkpoints_.size(); }

 private:
  struct Checkpoint {
    std::size_t length;
    Page block;
  };

  [[nodiscard]] std::vector<std::size_t> wanted_checkpoints(std::size_t count) const;
  void plan_checkpoints(std::size_t count);

  PagePool* pool_;
  std::size_t length_ = 0;
  Page block_;                           // null: nothing is remembered yet
  Page scratch_;                         // of rows that will be forgotten
  std::vector<Checkpoint> checkpoints_;  // ascending
  std::vector<Checkpoint> planned_;      // those that the prepared pass fills
  std::vector<Save> saves_;              // planned_, as the pass wants them
};

}  // namespace plm
