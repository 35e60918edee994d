// Decoders: algorithms that decide the cells of a canvas. One file each in decode/decoders/, a coroutine that reads as
// the algorithm in the paper. Tested, for every registered decoder, by tests/contract/test_decoders.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/definition.h"
#include "base/philox.h"
#include "base/task.h"
#include "decode/canvas.h"
#include "decode/parallel_policy.h"
#include "decode/phrase_bans.h"
#include "decode/session.h"
#include "decode/text_stream.h"
#include "decode/thinking_budget.h"
#include "sampling/chain.h"

namespace plm {

/// Log-probabilities that are wanted with every token.
struct LogProbabilityWish {
  enum class Of : std::uint8_t {
    model,   ///< the model's own distribution: softmax of its logits
    chain,   ///< what the samplers left, from which the token was drawn
    masked,  ///< the model's own among the tokens that a constraint allows
  };
  Of of = Of::model;
  std::size_t top = 0;  ///< likeliest tokens beside it
  /// Also for the tokens of the prompt, each as if the ones before it were the whole prompt. The sequence must then
  /// begin with no state. The first token has none.
  bool prompt = false;
};

/// Cells to be written between given ones.
struct Hole {
  std::size_t position = 0;  ///< given cells before it
  std::size_t length = 0;    ///< cells, at least 1
};

class ConstraintMatcher;

/// What the text must fit, for decoders that write one token after another.
struct TextConstraint {
  std::shared_ptr<ConstraintMatcher> matcher;  ///< of this text alone; null: there is no constraint
  /// Tokens that spell bytes which must come next, as the model's tokeniser would; not set: none are put in unasked.
  std::function<std::vector<TokenId>(std::string_view)> spell = {};
  /// The token is drawn as if there was no constraint, and once more under it if it does not fit (as llama.cpp).
  bool resamples = false;
};

/// What a decoder is given: a canvas that holds the prompt, and the policy.
struct DecodeJob {
  Canvas canvas;
  Chain chain;
  TextStream text;
  std::size_t max_tokens = 0;       ///< tokens to write at most
  std::vector<Hole> holes = {};     ///< for decoders that fill masks, by position; empty: one behind the prompt
  std::vector<TokenId> end_tokens;  ///< tokens that end the text; empty: none does
  std::uint64_t seed = 0;
  const ParallelPolicy* parallel = nullptr;  ///< for decoders that fill masks
  std::optional<LogProbabilityWish> log_probabilities = {};
  std::optional<std::size_t> trace_top = {};  ///< traces the samplers, with this many of the likeliest tokens
  std::optional<PhraseBans> bans = {};        ///< texts that must not appear
  TextConstraint constraint = {};
  std::optional<BudgetRules> thinking = {};  ///< for decoders that write one token after another; not with bans
  bool is_guided = false;                    ///< rows come from a GuidedSession, whose statistics are not combined
};

struct DecodeOutcome {
  FinishReason reason = FinishReason::none;
  std::vector<TokenId> tokens;      ///< written, without the end token
  std::size_t thinking_tokens = 0;  ///< of them, as a thinking budget counts
  std::size_t forced_ends = 0;      ///< of the thinking, by its budget
  /// Of jobs with holes: what was written into each, up to an end token.
  std::vector<std::vector<TokenId>> holes = {};
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
