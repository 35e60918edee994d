// Sizes of storage types by the names people use, those among them that GGUF has no number for.
// Tested by tests/plan/test_stored_type.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace plm {

struct StoredType {
  std::string_view name;  ///< lower case: "q4_k"
  std::uint64_t block_numbers = 1;
  std::uint64_t block_bytes = 4;

  [[nodiscard]] double bits() const {
    return 8.0 * static_cast<double>(block_bytes) / static_cast<double>(block_numbers);
  }
};

/// By name in either case, "F16" or "f16"; also "fp16", "float16" and the like. Error (usage) names those there are.
[[nodiscard]] Result<StoredType> find_stored_type(std::string_view name);

/// Bytes of a row. Error (usage): the numbers do not fill whole quant blocks; nothing is rounded.
[[nodiscard]] Result<std::uint64_t> stored_bytes(const StoredType& type, std::uint64_t numbers);

}  // namespace plm
