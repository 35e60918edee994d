// The settings of rotary positions in a Hugging Face checkpoint, as keys and tensors of GGUF. Old checkpoints have
// rope_theta and rope_scaling, those of transformers 5 and later rope_parameters, which holds both.
// Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "model/huggingface_form.h"

namespace plm {

/// Adds rope.freq_base, rope.scaling.* and, for the scaling of Llama 3, the divisors rope_freqs.weight of the
/// head_dim / 2 frequencies. Errors (bad_input) name the setting: a kind of scaling that Rope does not know.
/// `share`: of a head that is rotated, which partial_rotary_factor must agree with.
[[nodiscard]] Result<void> add_rope_settings(CheckpointDraft& draft, std::uint64_t head_dim, double share = 1);

}  // namespace plm
