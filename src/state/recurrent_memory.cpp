#include "state/recurrent_memory.h"

#include <algorithm>
#include <utility>

#include "tensor/page.h"

namespace plm {
namespace {

// Thins ascending lengths out to `most`. The last stays; of the others the one goes whose loss makes the longest way
// from one to the next least, as a share of the way back from there, ways of less than a page counting as one.
void thin_out(std::vector<std::size_t>& lengths, std::size_t most, std::size_t now) {
  while (lengths.size() > most) {
    std::size_t cheapest = 0;
    double least = 0;
    for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
      const std::size_t before = i == 0 ? 0 : lengths[i - 1], behind = lengths[i + 1];
      const double cost =
          static_cast<double>(now - before + kPageCells) / static_cast<double>(now - behind + kPageCells);
      if (i == 0 || cost < least) {
        cheapest = i;
        least = cost;
      }
    }
    lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(cheapest));
  }
}

}  // namespace

Result<Page> RecurrentMemory::take(bool is_kept) {
  if (is_kept && block_ != nullptr && block_.use_count() == 1) return Page();
  return pool_->take();
}

void RecurrentMemory::prepare(std::size_t count, bool is_kept, Page taken, std::vector<PageCopy>& copies) {
  discard();
  if (taken != nullptr && length_ > 0) copies.push_back({block_.get(), taken.get()});
  if (!is_kept) {
    scratch_ = std::move(taken);
    return;
  }
  if (taken != nullptr) block_ = std::move(taken);
  plan_checkpoints(count);
}

// The lengths of the checkpoints to be had after `count` more cells.
std::vector<std::size_t> RecurrentMemory::wanted_checkpoints(std::size_t count) const {
  const std::size_t end = length_ + count;
  std::vector<std::size_t> lengths;
  for (const Checkpoint& checkpoint : checkpoints_) lengths.push_back(checkpoint.length);
  const std::size_t last = count > 1 ? end - 1 : end;
  // More borders than there may be checkpoints are not worth looking at.
  const std::size_t borders = last / kPageCells;
  std::size_t border = std::max(length_ / kPageCells + 1, borders - std::min(borders, 4 * kMostCheckpoints));
  for (; border <= borders; ++border) lengths.push_back(border * kPageCells);
  if (count > 1 && last % kPageCells != 0) lengths.push_back(last);
  thin_out(lengths, kMostCheckpoints, end);
  return lengths;
}

void RecurrentMemory::plan_checkpoints(std::size_t count) {
  if (count == 1 && (length_ + 1) % kPageCells != 0) return;  // nearly every row of a text being written
  const std::vector<std::size_t> wanted = wanted_checkpoints(count);
  std::erase_if(checkpoints_, [&](const Checkpoint& c) { return !std::ranges::binary_search(wanted, c.length); });
  for (const std::size_t length : wanted) {
    if (length <= length_) continue;
    auto block = pool_->take();
    if (!block.has_value()) break;
    saves_.push_back({length, block->get()});
    planned_.push_back({length, std::move(*block)});
  }
}

void RecurrentMemory::keep(std::size_t count) {
  PLM_CHECK(scratch_ == nullptr && block_ != nullptr);
  length_ += count;
  for (Checkpoint& checkpoint : planned_) {
    PLM_CHECK(checkpoint.length <= length_);
    checkpoints_.push_back(std::move(checkpoint));
  }
  discard();
}

void RecurrentMemory::discard() {
  scratch_.reset();
  planned_.clear();
  saves_.clear();
}

std::size_t RecurrentMemory::reachable(std::size_t length) const {
  if (length >= length_) return length_;
  const auto behind = std::ranges::upper_bound(checkpoints_, length, {}, &Checkpoint::length);
  return behind == checkpoints_.begin() ? 0 : std::prev(behind)->length;
}

void RecurrentMemory::truncate(std::size_t length) {
  PLM_CHECK(reachable(length) == length);
  if (length == length_) return;
  std::erase_if(checkpoints_, [&](const Checkpoint& checkpoint) { return checkpoint.length > length; });
  block_ = length == 0 ? nullptr : checkpoints_.back().block;
  length_ = length;
  discard();
}

RecurrentMemory RecurrentMemory::fork() const {
  RecurrentMemory copy(*pool_);
  copy.length_ = length_;
  copy.block_ = block_;
  copy.checkpoints_ = checkpoints_;
  return copy;
}

}  // namespace plm
