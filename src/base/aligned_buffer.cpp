#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace plm {
namespace {

constexpr std::size_t kHugePage = 2U << 20;

/// `bytes`, a multiple of kHugePage, mapped at such a multiple, so that all of it can be huge pages; null if refused.
std::byte* map_huge(std::size_t bytes) {
  const std::size_t all = bytes + kHugePage;
  void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(memory);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, all - before - bytes);
  madvise(first + before, bytes, MADV_HUGEPAGE);
  return first + before;
}

}  // namespace

void UnmapOrFree::operator()(std::byte* memory) const {
  if (mapped > 0) {
    munmap(memory, mapped);
  } else {
    std::free(memory);
  }
}

Result<AlignedBuffer> AlignedBuffer::allocate(std::size_t bytes) {
  AlignedBuffer buffer;
  buffer.size_ = bytes;
  if (bytes == 0) return buffer;
  if (bytes >= kHugePage) {
    const std::size_t mapped = bytes / kHugePage * kHugePage + (bytes % kHugePage == 0 ? 0 : kHugePage);
    const bool is_countable = bytes <= std::numeric_limits<std::size_t>::max() - 2 * kHugePage;
    std::byte* memory = is_countable ? map_huge(mapped) : nullptr;
    if (memory == nullptr) {
      return fail(ErrorKind::no_room, "out of memory: {} bytes asked for; use a smaller context or model", bytes);
    }
    buffer.memory_ = {memory, UnmapOrFree{mapped}};
    return buffer;
  }
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) return fail(ErrorKind::no_room, "out of memory: {} bytes asked for", bytes);
  std::memset(memory, 0, rounded);
  buffer.memory_ = {static_cast<std::byte*>(memory), UnmapOrFree{0}};
  return buffer;
}

}  // namespace plm
