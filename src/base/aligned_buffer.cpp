#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace plm {
namespace {
constexpr std::size_t kHugePage = 2U << 20;
}

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
    const std::size_t mapped = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return fail(ErrorKind::no_room, "out of memory: {} bytes asked for; use a smaller context or model", bytes);
    }
    madvise(memory, mapped, MADV_HUGEPAGE);
    buffer.memory_ = {static_cast<std::byte*>(memory), UnmapOrFree{mapped}};
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
