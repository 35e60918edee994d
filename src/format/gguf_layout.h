// Where the tensors of a GGUF file lie: inside the file, aligned, apart from each other.
//
// The data begin after the tensor table, rounded up to the alignment; every tensor is padded to it as well. What other
// readers would notice but nobody is harmed by (holes, dirty or missing padding, bytes at the end, data that were never
// downloaded) becomes a warning. Private to this room. Tested by tests/format/test_gguf_layout.cpp.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "format/gguf_header.h"

namespace plm {

/// Sets `bytes` of every tensor of `header`. Errors (bad_input) name the tensor; the caller adds the file.
Result<void> place_tensors(std::span<const std::byte> bytes, GgufHeader& header, GgufWarnings& warnings);

}  // namespace plm
