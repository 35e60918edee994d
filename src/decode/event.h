// What happens while a text is written. Streaming, traces, the laboratory and the tests all listen to this one stream;
// replaying it rebuilds the canvas and the text. Tested by tests/decode/test_event_replay.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "decode/canvas.h"
#include "sampling/log_probabilities.h"

namespace plm {

struct TokenTrace;

enum class EventKind : std::uint8_t {
  pass_ran,       ///< a pass of `rows` rows came back, beside `reused` cells whose state was there before
  drifted,        ///< a pass over everything, for comparison: of `rows` rows read from a cache that is not exact, the
                  ///< share `probability` had another likeliest token, and a logit was off by `score` at most
  proposed,       ///< the network proposes `token` for `cell`
  committed,      ///< `cell` was decided as `token`
  replaced,       ///< `cell`, decided before, is now `token`
  revoked,        ///< `cell` is open again and shows `token`
  inserted,       ///< an open `cell` showing `token` came before position `position`
  deleted,        ///< `cell` is gone
  scored,         ///< `cell` was given `token`, whose `log_probability` was asked for
  stable_prefix,  ///< `text` follows what was stable before and can no longer change
  finished,       ///< nothing follows; `reason` says why
};

/// Why a text ended.
enum class FinishReason : std::uint8_t {
  none,
  end_of_text,  ///< the model said so
  stop,         ///< a stop string appeared
  length,       ///< as many tokens as were asked for
  context,      ///< the context is full
  interrupted,  ///< the user stopped it
};
[[nodiscard]] std::string_view finish_reason_name(FinishReason reason);

struct Event {
  EventKind kind;
  CellId cell = 0;
  TokenId token = kNoToken;
  std::size_t position = 0;
  std::size_t rows = 0;
  std::size_t reused = 0;
  /// Of the token, in the distribution it was chosen from; of a revoked one, what spoke for its staying or going, as
  /// `rule` says.
  double probability = 0;
  double score = 0;    ///< of a proposed token: the confidence that ranks it (decode/confidence.h); -inf: taken last
  double entropy = 0;  ///< of a proposed token: of that position's distribution, given what the pass saw; nats
  /// Why it was committed, replaced or revoked: a schedule's or a parameter's name; empty: drawn. Lives for ever.
  std::string_view rule = {};
  /// Of a committed or scored token, natural, and the likeliest beside it, as asked for (decode/choice.h).
  double log_probability = 0;
  std::span<const TokenLogProbability> top = {};  ///< valid during the call
  const TokenTrace* trace = nullptr;              ///< of a committed token, if asked for; valid during the call
  std::string text = {};
  FinishReason reason = FinishReason::none;
};

using Listener = std::function<void(const Event& event)>;

}  // namespace plm
