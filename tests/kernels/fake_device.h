// A device whose memory the host cannot touch: every page of it is PROT_NONE except while `wait` runs. Code that keeps
// a pointer into device memory, or expects a result before `wait`, dies on the spot. It computes with the reference
// kernels, so its results are those of a CpuDevice with KernelChoice::reference, bit for bit.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/cpu_storage.h"

namespace plm {

class FakeDevice : public CpuDevice {
  // What is shared with the storages, which may outlive the device.
  struct Memory {
    std::mutex mutex;
    std::vector<std::span<std::byte>> regions;

    void protect(int protection) {
      const std::lock_guard lock(mutex);
      for (const auto& region : regions) PLM_CHECK(mprotect(region.data(), region.size(), protection) == 0);
    }
  };

  class HiddenStorage : public CpuStorage {
   public:
    HiddenStorage(std::span<std::byte> region, std::size_t size, std::shared_ptr<Memory> memory)
        : CpuStorage(region.data(), size), region_(region), memory_(std::move(memory)) {
      const std::lock_guard lock(memory_->mutex);
      memory_->regions.push_back(region_);
    }
    ~HiddenStorage() override {
      const std::lock_guard lock(memory_->mutex);
      std::erase_if(memory_->regions, [&](const auto& region) { return region.data() == region_.data(); });
      munmap(region_.data(), region_.size());
    }

   private:
    std::span<std::byte> region_;
    std::shared_ptr<Memory> memory_;
  };

 public:
  explicit FakeDevice(int threads = 1, Activations activations = Activations::f32)
      : CpuDevice({.threads = threads, .kernels = KernelChoice::reference, .activations = activations}) {}

  [[nodiscard]] std::string describe() const override { return "fake"; }

  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t mapped = (bytes + page) / page * page;  // never empty
    void* memory = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return fail(ErrorKind::no_room, "fake device: {} bytes refused", bytes);
    return std::make_shared<HiddenStorage>(std::span(static_cast<std::byte*>(memory), mapped), bytes, memory_);
  }

  Result<void> wait() override {
    memory_->protect(PROT_READ | PROT_WRITE);
    const Result<void> result = CpuDevice::wait();
    memory_->protect(PROT_NONE);
    return result;
  }

 private:
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

}  // namespace plm
