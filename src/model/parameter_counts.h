// How many parameters a model file has, and how many of them one token meets: of the experts of a layer only those that
// the router chooses. Everything else counts in full, the embedding too. Tested by
// tests/model/test_parameter_counts.cpp.
#pragma once

#include <cstdint>

#include "format/gguf.h"

namespace plm {

struct ParameterCounts {
  std::uint64_t total = 0;
  std::uint64_t active = 0;
  std::uint64_t experts = 0;  ///< of a layer; 0: the model is dense
  std::uint64_t used_experts = 0;
};

/// By the names of the tensors and the keys expert_count and expert_used_count; a file whose keys make no sense counts
/// as dense.
[[nodiscard]] ParameterCounts count_parameters(const GgufFile& file);

}  // namespace plm
