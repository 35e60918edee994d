// One pass of the network over some rows: what goes in and what each row must yield (DESIGN section 3).
//
// Rows of several sequences may share a pass; which row sees what is in the RowTable, so causal text, bidirectional
// canvases and trees of drafts differ in data, not in code.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/device.h"

namespace plm {

/// What a row must hand back.
enum class YieldKind : std::uint8_t {
  nothing,
  hidden,      ///< the state after the last norm, [hidden_size]; no logits are computed for it
  statistics,  ///< RowStatistics of the logits
  top,         ///< the n largest logits, and statistics
  logits,      ///< all logits, [vocab_size], and statistics
};

struct Yield {
  std::uint32_t row = 0;
  YieldKind kind = YieldKind::statistics;
  std::uint32_t n = 0;  ///< for `top`
  /// A token whose logit counts as -inf, in statistics and in what is read; -1: none.
  std::int32_t without = -1;
};

/// What came back for one yield; which members are filled depends on its kind.
struct YieldResult {
  std::vector<TokenScore> top;
  std::vector<float> values;  ///< hidden state or logits
};

/// The rows of a pass. Every span must stay valid until the device's wait.
struct PassRows {
  std::span<const std::int32_t> tokens;      ///< [rows], ids in [0, vocab_size)
  std::span<const std::uint32_t> positions;  ///< [rows], for rotary embeddings
  RowTable table;
  /// [rows], which part of a pair of texts a token is of, or 1 for rows of a page that is refined (networks with
  /// self-conditioning); empty: all 0.
  std::span<const std::int32_t> types = {};
  /// [rows] or empty: what the pass before thought of a row, as probabilities of all tokens, [vocab_size], or nothing.
  /// Read by networks with self-conditioning.
  std::span<const std::span<const float>> soft_tokens = {};
  std::span<const Yield> yields;        ///< ascending by row
  std::span<RowStatistics> statistics;  ///< one a yield, filled where the kind says so, when the device's wait returns
  std::span<YieldResult> results;       ///< likewise
};

/// Called while the pass is enqueued, after each named intermediate ("embed", "layer.3", "layer.3.attn", "layer.3.ffn",
/// "layer.3.routing" where there are experts, "final_norm"); may enqueue a download of the view. For tests and the
/// laboratory.
using Probe = std::function<void(std::string_view name, const View& value)>;

/// Looks at passes as they are enqueued, each first as a whole.
struct PassWatch {
  std::function<void(const PassRows& rows)> on_pass;
  Probe probe;
};

}  // namespace plm
