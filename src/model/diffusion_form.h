// What checkpoints in Hugging Face's layout say of filling masks, as keys of GGUF (model/diffusion_traits.h reads
// them). Tested by tests/model/test_masked_families.cpp.
#pragma once

#include "base/error.h"
#include "model/diffusion_traits.h"
#include "model/huggingface_form.h"

namespace plm {

/// Adds attention.causal, diffusion.shift_logits and, of networks that read block by block, diffusion.attention and
/// diffusion.block_length, which is block_size, bd_size or that of `traits`. The mask token is mask_token_id, or that
/// of `traits`, the one of the published checkpoints, where the vocabulary reaches that far; without one the file must
/// be told of it. Errors (bad_input) name the setting.
[[nodiscard]] Result<void> add_diffusion_settings(CheckpointDraft& draft, const DiffusionTraits& traits);

/// What is left to a decoder of the usual kind that fills masks: SiLU, no windows, the settings above and those of
/// dense_form.h. Experts come before it.
[[nodiscard]] Result<void> complete_diffusion_draft(CheckpointDraft& draft, const DiffusionTraits& traits);

// For TensorRule::applies, of encoders: whether the checkpoint's class fills masks (others may keep the head that they
// were trained with, and not use it), and whether its head has a matrix of its own in place of the embedding.
[[nodiscard]] bool fills_masks(const ConfigReader& config);
[[nodiscard]] bool has_own_words(const ConfigReader& config);
/// Of a tensor that stands twice.
[[nodiscard]] inline bool is_never_read(const ConfigReader&) { return false; }

}  // namespace plm
