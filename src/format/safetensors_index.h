// model.safetensors.index.json: which shard of a checkpoint holds which tensor.
//
// Large checkpoints list a hundred thousand tensors, more than an object of ordinary JSON is allowed here
// (base/json.h), so the list is read as a stream of keys and values. Tested by tests/format/test_safetensors_index.cpp
// and tests/fuzz/fuzz_checkpoint.cpp.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plm {

/// Tensor name to the file name of its shard. Errors (bad_input) name `name`: no JSON, no "weight_map", a tensor twice,
/// a shard that is no plain file name ending in ".safetensors".
[[nodiscard]] Result<std::map<std::string, std::string, std::less<>>> parse_safetensors_index(std::string_view text,
                                                                                              std::string_view name);

}  // namespace plm
