// What one sequence remembers: a list of pages, the number of cells that count, and what recurrent layers made of them.
//
// Invariants
//  1. pages.size() * kPageCells >= length; cells at and after `length` are scratch.
//  2. `reserve` makes the pages that the next cells touch this sequence's own (copy-on-write); older pages may be
//     shared with forks and are never written.
//  3. `truncate` is exact: what a sequence computes next depends on its first `length` cells only. With recurrent
//     layers it leads to a few lengths only, which `reachable` knows.
// The cell with number n of a sequence lies in page n / kPageCells at n % kPageCells, whoever owns it.
// Tested by tests/state/test_sequence_state.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "state/page_pool.h"
#include "state/recurrent_memory.h"

namespace plm {

/// Where the memory of sequences comes from.
struct StatePools {
  PagePool* pages;
  PagePool* blocks = nullptr;  ///< of recurrent layers; null: there are none

  StatePools(PagePool& from) : pages(&from) {}  // NOLINT(google-explicit-constructor)
  StatePools(PagePool& from, PagePool* recurrent) : pages(&from), blocks(recurrent) {}
};

/// What becomes of the cells that a pass computes.
enum class CellUse { kept, forgotten };

class SequenceState {
 public:
  explicit SequenceState(StatePools pools) : pool_(pools.pages) {
    if (pools.blocks != nullptr) recurrent_.emplace(*pools.blocks);
  }
  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;

  /// Makes room for cells [length, length + count) that only this sequence owns. Copies of half-filled shared pages are
  /// appended to `copies`, to be run in that order: a page may be given back and taken again meanwhile. On error
  /// no_room nothing has changed.
  Result<void> reserve(std::size_t count, std::vector<PageCopy>& copies, CellUse use = CellUse::kept);

  /// Counts `count` reserved cells, all of them, as remembered.
  void keep(std::size_t count);
  /// The reserved cells are not needed any more.
  void discard();

  /// The largest length up to `length` that `truncate` can lead to.
  [[nodiscard]] std::size_t reachable(std::size_t length) const;
  /// Forgets everything from cell `length` on. length <= this->length(), and reachable.
  void truncate(std::size_t length);

  /// A second sequence with the same past; pages are shared until one of them writes.
  [[nodiscard]] SequenceState fork() const;

  [[nodiscard]] std::size_t length() const { return length_; }
  /// The pages as an operation wants them; valid until the next call that changes the state.
  [[nodiscard]] std::span<Storage* const> storages() const { return storages_; }
  /// What recurrent layers remember; null where there are none.
  [[nodiscard]] const RecurrentMemory* recurrent() const { return recurrent_.has_value() ? &*recurrent_ : nullptr; }

 private:
  // Whether there is a page of that number, which no fork holds.
  [[nodiscard]] bool is_own(std::size_t page) const { return page < pages_.size() && pages_[page].use_count() == 1; }
  Result<void> reserve_pages(std::size_t count, std::vector<PageCopy>& copies);

  PagePool* pool_;
  std::vector<Page> pages_;
  std::vector<Storage*> storages_;  // pages_, as raw pointers
  std::size_t length_ = 0;
  std::optional<RecurrentMemory> recurrent_;
};

}  // namespace plm
