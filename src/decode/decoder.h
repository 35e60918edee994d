// Decoders: algorithms that decide the cells of a canvas. One file each in decode/decoders/, a coroutine that reads as
// the algorithm in the paper. Tested, for every registered decoder, by tests/contract/test_decoders.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/definition.h"
#include "base/philox.h"
#include "base/task.h"
#include "decode/canvas.h"
#include "decode/parallel_policy.h"
#include "decode/session.h"
#include "decode/text_stream.h"
#include "sampling/chain.h"

namespace plm {

/// What a decoder is given: a canvas that holds the prompt, and the policy.
struct DecodeJob {
  Canvas canvas;
  Chain chain;
  TextStream text;
  std::size_t max_tokens = 0;       ///< tokens to write at most
  std::vector<TokenId> end_tokens;  ///< tokens that end the text; empty: none does
  std::uint64_t seed = 0;
  const ParallelPolicy* parallel = nullptr;  ///< for decoders that fill masks
};

struct DecodeOutcome {
  FinishReason reason = FinishReason::none;
  std::vector<TokenId> tokens;  ///< written, without the end token
};

struct DecoderDefinition {
  Definition head;
  /// Whether it needs a model that fills masks, and a policy to do so; else one that writes token after token.
  bool fills_masks = false;
  /// Runs on `session` until the text is finished. Session and job must outlive the task.
  Task<Result<DecodeOutcome>> (*run)(Session& session, DecodeJob& job);
};

/// All decoders, sorted by name (generated).
[[nodiscard]] std::span<const DecoderDefinition* const> decoders();
[[nodiscard]] const DecoderDefinition* find_decoder(std::string_view name);

}  // namespace plm
