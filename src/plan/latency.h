// How long passes take, from what a machine can do: a pass either reads its weights or computes with them, whichever
// takes longer, then reads keys and values or computes scores, then pays for barriers.
//
// All times are in seconds, sizes in bytes, rates in operations a second (a multiplication and an addition are two).
// Source: datasheet 44 to 46; reference plan.md, section 4. Tested by tests/plan/test_latency.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace plm {

/// A measured curve: pairs of an ascending size and a rate. Between points it is linear in the logarithm of the size,
/// outside it is flat.
using RateCurve = std::vector<std::pair<double, double>>;
[[nodiscard]] double rate_at(const RateCurve& curve, double size);

/// What the model of a machine consists of.
struct MachineRates {
  RateCurve bandwidth;      ///< bytes read a second, by the bytes that are read again and again
  RateCurve linear;         ///< operations a second of products with weights, by rows; empty: from the two below
  double linear_limit = 0;  ///< of many rows
  double linear_half = 0;   ///< rows at which half of it is reached
  double attention = 0;     ///< operations a second
  double barrier = 0;       ///< seconds
  double barriers_per_layer = 0;
  double fixed = 0;     ///< seconds of every pass
  double per_draw = 0;  ///< seconds for each row of logits

  [[nodiscard]] double linear_rate(double rows) const;
};

/// What of a model passes depend on.
struct PassModel {
  double layers = 0;
  double q_heads = 0;
  double head_size = 0;
  double body_parameters = 0;  ///< that are multiplied, without the head
  double body_bytes = 0;
  double head_parameters = 0;
  double head_bytes = 0;
  double kv_per_token = 0;  ///< bytes
};

/// One pass.
struct PassSize {
  double rows = 1;
  double head_rows = 1;  ///< rows whose logits are asked for
  double kv_bytes = 0;   ///< keys and values that are read
  double seen_keys = 0;  ///< the keys that each row sees, summed over the rows
};

/// Where the time of a pass goes, in seconds.
struct PassTime {
  double body = 0;
  double head = 0;
  double attention = 0;
  double barriers = 0;
  double rest = 0;
  bool body_reads = false;  ///< reading the weights takes longer than computing with them
  [[nodiscard]] double total() const { return body + head + attention + barriers + rest; }
};
[[nodiscard]] PassTime pass_time(const MachineRates& machine, const PassModel& model, const PassSize& size);

/// One token for each of `batch` sequences that see `keys` keys, the new one among them.
[[nodiscard]] PassTime decode_time(const MachineRates& machine, const PassModel& model, double keys, double batch = 1);
/// A prompt in chunks of `chunk`; the head for its last row.
[[nodiscard]] double prefill_time(const MachineRates& machine, const PassModel& model, std::uint64_t tokens,
                                  std::uint64_t chunk);
/// A block whose rows see each other, behind `past` tokens.
[[nodiscard]] PassTime block_time(const MachineRates& machine, const PassModel& model, double past, double block,
                                  double head_rows);
/// `tokens` tokens one by one behind `past`.
[[nodiscard]] double writing_time(const MachineRates& machine, const PassModel& model, std::uint64_t past,
                                  std::uint64_t tokens);

struct BlockWriting {
  std::uint64_t past = 0;
  std::uint64_t block = 1;
  std::uint64_t tokens = 0;
  double per_pass = 1;  ///< tokens that a pass decides on average
  bool keeps = true;    ///< a finished block goes through once more, without the head, to be remembered
};
/// The same tokens block by block.
[[nodiscard]] double block_writing_time(const MachineRates& machine, const PassModel& model,
                                        const BlockWriting& writing);

/// Tokens a pass must decide on average so that blocks are as fast as one token after another; nothing when keeping
/// alone takes as long. `one`, `block_pass` and `keep`: seconds of a pass.
[[nodiscard]] std::optional<double> even_tokens_per_pass(double one, double block_pass, double keep, double block);

}  // namespace plm
