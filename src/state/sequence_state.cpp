#include "state/sequence_state.h"

#include <algorithm>
#include <utility>

namespace plm {

Result<void> SequenceState::reserve(std::size_t count, std::vector<PageCopy>& copies, CellUse use) {
  if (count == 0) return {};
  if (!recurrent_.has_value()) return reserve_pages(count, copies);
  const bool is_kept = use == CellUse::kept;
  PLM_TRY_ASSIGN(Page block, recurrent_->take(is_kept));
  PLM_TRY(reserve_pages(count, copies));
  recurrent_->prepare(count, is_kept, std::move(block), copies);
  return {};
}

Result<void> SequenceState::reserve_pages(std::size_t count, std::vector<PageCopy>& copies) {
  std::size_t first_page = length_ / kPageCells;
  const std::size_t page_count = (length_ + count + kPageCells - 1) / kPageCells;
  const bool must_copy = first_page < pages_.size() && length_ % kPageCells != 0 && pages_[first_page].use_count() > 1;

  // Mostly the pages are there, and nothing must be taken.
  while (first_page < page_count && is_own(first_page)) ++first_page;

  // Take everything first, so that a failure leaves the state as it was. Pages behind `length` that a fork also holds
  // carry nothing of ours and are simply replaced.
  std::vector<Page> fresh;
  for (std::size_t page = first_page; page < page_count; ++page) {
    if (is_own(page)) {
      fresh.push_back(pages_[page]);
    } else {
      PLM_TRY_ASSIGN(Page taken, pool_->take());
      fresh.push_back(std::move(taken));
    }
  }
  if (must_copy) copies.push_back({pages_[first_page].get(), fresh[0].get()});
  pages_.resize(page_count);
  storages_.resize(page_count);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    storages_[first_page + i] = fresh[i].get();
    pages_[first_page + i] = std::move(fresh[i]);
  }
  return {};
}

void SequenceState::keep(std::size_t count) {
  PLM_CHECK(length_ + count <= pages_.size() * kPageCells);
  length_ += count;
  if (recurrent_.has_value()) recurrent_->keep(count);
}

void SequenceState::discard() {
  if (recurrent_.has_value()) recurrent_->discard();
}

std::size_t SequenceState::reachable(std::size_t length) const {
  return recurrent_.has_value() ? recurrent_->reachable(length) : std::min(length, length_);
}

void SequenceState::truncate(std::size_t length) {
  PLM_CHECK(length <= length_);
  length_ = length;
  if (recurrent_.has_value()) recurrent_->truncate(length);
  const std::size_t page_count = (length + kPageCells - 1) / kPageCells;
  if (page_count < pages_.size()) {
    pages_.resize(page_count);
    storages_.resize(page_count);
  }
}

SequenceState SequenceState::fork() const {
  SequenceState copy(*pool_);
  const std::size_t page_count = (length_ + kPageCells - 1) / kPageCells;
  copy.pages_.assign(pages_.begin(), pages_.begin() + static_cast<std::ptrdiff_t>(page_count));
  copy.storages_.assign(storages_.begin(), storages_.begin() + static_cast<std::ptrdiff_t>(page_count));
  copy.length_ = length_;
  if (recurrent_.has_value()) copy.recurrent_ = recurrent_->fork();
  return copy;
}

}  // namespace plm
