// What one sequence remembers: a list of pages and the number of cells that count.
//
// Invariants
//  1. pages.size() * kPageCells >= length; cells at and after `length` are scratch.
//  2. `reserve` makes the pages that the next cells touch this sequence's own (copy-on-write); older pages may be
//     shared with forks and are never written.
//  3. `truncate` is exact: what a sequence computes next depends on its first `length` cells only.
// The cell with number n of a sequence lies in page n / kPageCells at n % kPageCells, whoever owns it.
// Tested by tests/state/test_sequence_state.cpp.
#pragma once

#include <span>
#include <vector>

#include "state/page_pool.h"

namespace plm {

/// A copy that must run on the device before the next pass of any sequence. It owns neither page: a sequence that is
/// left as the only owner of `from` writes there in place, after the copy.
struct PageCopy {
  Storage* from;
  Storage* to;
};

class SequenceState {
 public:
  explicit SequenceState(PagePool& pool) : pool_(&pool) {}
  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;

  /// Makes room for cells [length, length + count) that only this sequence owns. Copies of half-filled shared pages are
  /// appended to `copies`, to be run in that order: a page may be given back and taken again meanwhile. On error
  /// no_room nothing has changed.
  Result<void> reserve(std::size_t count, std::vector<PageCopy>& copies);

  /// Counts `count` reserved cells as remembered.
  void keep(std::size_t count);

  /// Forgets everything from cell `length` on. length <= this->length().
  void truncate(std::size_t length);

  /// A second sequence with the same past; pages are shared until one of them writes.
  [[nodiscard]] SequenceState fork() const;

  [[nodiscard]] std::size_t length() const { return length_; }
  /// The pages as an operation wants them; valid until the next call that changes the state.
  [[nodiscard]] std::span<Storage* const> storages() const { return storages_; }

 private:
  // Whether there is a page of that number, which no fork holds.
  [[nodiscard]] bool is_own(std::size_t page) const { return page < pages_.size() && pages_[page].use_count() == 1; }

  PagePool* pool_;
  std::vector<Page> pages_;
  std::vector<Storage*> storages_;  // pages_, as raw pointers
  std::size_t length_ = 0;
};

}  // namespace plm
