#include "state/page_pool.h"

namespace plm {

PagePool::PagePool(Memory& memory, std::size_t page_bytes, std::size_t most_pages)
    : memory_(memory), page_bytes_(page_bytes), most_pages_(most_pages), free_(std::make_shared<FreeList>()) {}

PagePool::~PagePool() = default;

std::size_t PagePool::pages_in_use() const { return allocated_ - free_->pages.size(); }

Result<Page> PagePool::take() {
  while (free_->pages.empty() && allocated_ == most_pages_ && reclaim_ && reclaim_()) {
  }
  std::shared_ptr<Storage> storage;
  if (!free_->pages.empty()) {
    storage = std::move(free_->pages.back());
    free_->pages.pop_back();
  } else if (allocated_ < most_pages_) {
    PLM_TRY_ASSIGN(storage, memory_.allocate(page_bytes_));
    ++allocated_;
  } else {
    return fail(ErrorKind::no_room,
                "sequence memory: all {} pages of {} cells are in use; use a smaller context or fewer sequences",
                most_pages_, kPageCells);
  }
  Storage* raw = storage.get();
  // The last owner's deleter puts the storage back instead of freeing it.
  return Page(raw, [list = std::weak_ptr<FreeList>(free_), kept = std::move(storage)](Storage*) mutable {
    if (auto free_list = list.lock()) free_list->pages.push_back(std::move(kept));
  });
}

}  // namespace plm
