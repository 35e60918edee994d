// Device memory for tests of the state room: bytes on the host that the tests can look into.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tensor/storage.h"

namespace plm {

struct HostStorage : Storage {
  explicit HostStorage(std::size_t bytes) : content(bytes) {}
  [[nodiscard]] std::size_t size() const override { return content.size(); }
  std::vector<std::byte> content;
};

struct HostMemory : Memory {
  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override { return std::make_shared<HostStorage>(bytes); }
};

}  // namespace plm
