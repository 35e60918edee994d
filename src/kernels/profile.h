// What things cost in memory on the CPU device, for a planner that has nothing but their sizes.
// Tested by tests/plan/test_engine_memory.cpp against a device that counts.
#pragma once

#include <cstdint>

#include "tensor/storage_type.h"

namespace plm {

/// Bytes that the fast kernels keep of `count` matrices [outputs, inputs] beside the file; 0: they read the file.
[[nodiscard]] std::uint64_t packed_weight_bytes(const StorageType& type, std::uint64_t outputs, std::uint64_t inputs,
                                                std::uint64_t count = 1);

/// Bytes of activations [rows, inputs] that are rounded to meet a quantised weight.
[[nodiscard]] std::uint64_t rounded_bytes(std::uint64_t rows, std::uint64_t inputs);

}  // namespace plm
