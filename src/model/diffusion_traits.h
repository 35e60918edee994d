// What a file says about writing a page at a time: the mask token, what rows see of each other, which row speaks for
// which position. Keys: diffusion.* (llama.cpp's and our own), tokenizer.ggml.mask_token_id.
// Tested by tests/model/test_diffusion_traits.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "format/gguf.h"

namespace plm {

/// What a row sees besides itself.
enum class DiffusionAttention : std::uint8_t {
  full,            ///< every row of the sequence
  block_causal,    ///< its own block and all before it, blocks counted from the start of the sequence
  causal_context,  ///< before the current block rows see what is before them; those of the block see all of that and
                   ///< one another
};

/// What stands at a position that is not decided.
enum class DiffusionNoise : std::uint8_t {
  mask,     ///< the mask token
  uniform,  ///< any token
};

struct DiffusionTraits {
  DiffusionNoise noise = DiffusionNoise::mask;
  DiffusionAttention attention = DiffusionAttention::full;
  bool shifts_logits = false;    ///< row i - 1 speaks for position i, row 0 for positions 0 and 1
  std::size_t block_length = 0;  ///< trained with; 0: any
  bool is_causal_too = false;    ///< the same weights write one token after another as well
  bool edits = false;            ///< trained to correct tokens that it sees
  /// Of an architecture: what those of its checkpoints that were trained so have in their name (general.name, letters
  /// in lower case, digits and dots alone); nothing else tells them apart.
  std::string_view editing_name = {};
  std::int32_t mask_token = -1;    ///< stands for an undecided position
  std::int32_t expand_token = -1;  ///< proposed where two positions are wanted; -1: the model has none
  std::int32_t delete_token = -1;  ///< proposed where no position is wanted; -1: the model has none
  /// What the network expects behind a page whose end no given text follows ([SEP] of encoders); -1: nothing.
  std::int32_t closing_token = -1;
};

/// What the file says, over what its architecture does (null: it is not made for it). Nothing when neither says that
/// the network fills masks. Errors (bad_input) name the key.
[[nodiscard]] Result<std::optional<DiffusionTraits>> read_diffusion_traits(const GgufFile& file,
                                                                           const DiffusionTraits* of_architecture);

}  // namespace plm
