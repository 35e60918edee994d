// Pages of device memory for sequences: taken when one grows, given back when the last owner lets go, used again.
//
// A page holds kPageCells cells of all layers; what lies inside is the device's and the model's business.
// Invariant: pages handed out plus pages lying free never exceed `most_pages`. Not thread-safe: the scheduler owns it.
// Tested by tests/state/test_page_pool.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/page.h"
#include "tensor/storage.h"

namespace plm {

/// Shared ownership of one page; a page with one owner may be written to.
using Page = std::shared_ptr<Storage>;

/// A copy that must run on the device before the next pass of any sequence. It owns neither page: a sequence that is
/// left as the only owner of `from` writes there in place, after the copy.
struct PageCopy {
  Storage* from;
  Storage* to;
};

class PagePool {
 public:
  /// `page_bytes`: bytes of one page; `most_pages`: the limit over all sequences.
  PagePool(Memory& memory, std::size_t page_bytes, std::size_t most_pages);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A page nobody else has; its old content is undefined. Error no_room names both numbers.
  Result<Page> take();

  /// Asked when all pages are in use: lets go of some that can be done without. False: there are none.
  void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  [[nodiscard]] std::size_t page_bytes() const { return page_bytes_; }
  [[nodiscard]] std::size_t pages_in_use() const;
  [[nodiscard]] std::size_t pages_allocated() const { return allocated_; }

 private:
  struct FreeList {
    std::vector<std::shared_ptr<Storage>> pages;
  };

  Memory& memory_;
  std::size_t page_bytes_;
  std::size_t most_pages_;
  std::size_t allocated_ = 0;
  std::function<bool()> reclaim_;
  std::shared_ptr<FreeList> free_;  // outlives the pool when a page does
};

}  // namespace plm
