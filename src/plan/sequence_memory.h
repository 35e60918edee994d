// What a sequence keeps of its tokens, in bytes: keys and values, latent vectors, recurrent state.
//
// Three of these grow with the text, but a window only up to its width, and recurrent state not at all. How many cells
// a windowed layer keeps is a matter of policy, which differs between engines. Source: reference plan.md, section 2.
// Tested by tests/plan/test_sequence_memory.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/model_sketch.h"
#include "plan/stored_type.h"

namespace plm {

/// How many cells a layer with a window of W keeps of T tokens.
enum class WindowPolicy : std::uint8_t {
  exact,   ///< min(T, W): between steps nothing else is needed
  chunk,   ///< min(T, W - 1 + chunk): chunks of a prompt are computed in one pass each
  padded,  ///< whole units of 256 cells of min(context, W * sequences + chunk), as llama.cpp has it
  full,    ///< T: the window takes sight away and no memory, as this engine has it
};

/// What latent attention keeps.
enum class LatentForm : std::uint8_t {
  latent,    ///< one vector for all heads
  expanded,  ///< keys and values of every head
};

struct SequenceOptions {
  StoredType keys = {"f16", 1, 2};
  StoredType values = {"f16", 1, 2};
  StoredType state = {"f32", 1, 4};  ///< of recurrent layers
  WindowPolicy windows = WindowPolicy::exact;
  LatentForm latent = LatentForm::latent;
  std::uint64_t chunk = 512;    ///< tokens of a prompt computed at once
  std::uint64_t sequences = 1;  ///< that share windowed cells (padded)
  std::uint64_t context = 0;    ///< cells that are set aside (padded); 0: as many as there are tokens
};

struct SequenceBytes {
  std::uint64_t cells = 0;      ///< what is kept for each token: keys, values, latent vectors
  std::uint64_t recurrent = 0;  ///< what is kept whatever the length
  [[nodiscard]] std::uint64_t total() const { return cells + recurrent; }
};

/// Cells that a layer keeps of `tokens` tokens; `window` 0: it has none.
[[nodiscard]] std::uint64_t kept_cells(std::uint64_t tokens, std::uint64_t window, const SequenceOptions& options);

/// Of one mixer. Error (usage): a row does not fill whole blocks of its type.
[[nodiscard]] Result<SequenceBytes> mixer_bytes(const Mixer& mixer, std::uint64_t tokens,
                                                const SequenceOptions& options);

/// Of all layers; nothing for networks that read a text as a whole and keep none of it.
[[nodiscard]] Result<SequenceBytes> sequence_bytes(const ModelSketch& sketch, std::uint64_t tokens,
                                                   const SequenceOptions& options);

/// What 1000 tokens more cost behind `tokens`.
[[nodiscard]] Result<std::uint64_t> bytes_of_next_thousand(const ModelSketch& sketch, std::uint64_t tokens,
                                                           const SequenceOptions& options);

/// Several texts that begin alike.
struct ForkBytes {
  std::uint64_t apart = 0;       ///< each with all of its own
  std::uint64_t shared = 0;      ///< what all have in common, once
  std::uint64_t per_branch = 0;  ///< what each has besides: its own end, its windows, its recurrent state
  std::uint64_t branches = 0;
  [[nodiscard]] std::uint64_t total() const { return shared + branches * per_branch; }
};
struct ForkSizes {
  std::uint64_t prefix = 0;
  std::uint64_t suffix = 0;
  std::uint64_t branches = 1;
};
[[nodiscard]] Result<ForkBytes> fork_bytes(const ModelSketch& sketch, const ForkSizes& sizes,
                                           const SequenceOptions& options);

/// What a kind of layer is called, with its numbers: "GQA 9:3 heads of 64", "latent 512+64", "Mamba-2 state".
[[nodiscard]] std::string mixer_name(const Mixer& mixer);

/// One kind of mixer of a network and what all its layers keep.
struct MixerShare {
  std::string name;
  std::uint64_t layers = 0;
  std::uint64_t per_token = 0;  ///< bytes that the next token costs, far from any end
  SequenceBytes bytes;
};
/// By kind, in the order of the layers.
[[nodiscard]] Result<std::vector<MixerShare>> mixer_shares(const ModelSketch& sketch, std::uint64_t tokens,
                                                           const SequenceOptions& options);

/// Bytes of float32 logits for so many rows: of those that are asked for, where an engine computes no others.
[[nodiscard]] constexpr std::uint64_t logits_bytes(std::uint64_t rows, std::uint64_t vocabulary) {
  return rows * vocabulary * 4;
}

}  // namespace plm
