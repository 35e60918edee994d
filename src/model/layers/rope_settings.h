// The settings of rotary positions in a Hugging Face checkpoint, as keys and tensors of GGUF. Old checkpoints have
// rope_theta and rope_scaling, those of transformers 5 and later rope_parameters, which holds both.
// Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "model/huggingface_form.h"

namespace plm {

/// What a family's checkpoints leave unsaid.
struct RopeDefaults {
  double base = 10000;
  bool may_be_partial = false;    ///< only a part of each head may be rotated
  bool stretches_scores = false;  ///< by yarn's mscale_all_dim, in place of the rotated numbers
  double share = 1;               ///< of a head, that `head_dim` is; partial_rotary_factor must agree
};

/// Adds rope.freq_base, rope.scaling.*, rope.dimension_count where only a part of a head is rotated, and divisors of
/// the frequencies: rope_freqs.weight for the scaling of Llama 3, rope_factors_{long,short}.weight for longrope. Errors
/// (bad_input) name the setting: a kind of scaling that Rope does not know.
[[nodiscard]] Result<void> add_rope_settings(CheckpointDraft& draft, std::uint64_t head_dim,
                                             RopeDefaults defaults = {});

}  // namespace plm
