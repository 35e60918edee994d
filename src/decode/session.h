// What a decoder sees of the machine: a session runs passes over one sequence's state and passes events on.
//
// The engine implements it. A decoder never sees threads, batches or other sequences; while it waits for a pass, the
// scheduler runs that pass together with those of everybody else, which changes no bit of the answer.
#pragma once

#include <coroutine>
#include <span>
#include <vector>

#include "base/error.h"
#include "decode/event.h"
#include "model/pass.h"

namespace plm {

/// What becomes of the state that the rows of a pass compute.
enum class StateUse : std::uint8_t {
  append,   ///< the sequence remembers it
  scratch,  ///< thrown away after the pass
};

/// What the rows of a pass see of each other; all of them see the stored state.
enum class Sight : std::uint8_t {
  causal,         ///< each row sees itself and the rows before it
  bidirectional,  ///< each row sees all rows
  by_bits,        ///< row i sees row j when bit j of its words in `sight_bits` is set
};

/// Spans must stay valid until the pass has come back: locals of the decoder are.
struct PassRequest {
  std::span<const TokenId> tokens;  ///< at least one
  StateUse state = StateUse::append;
  Sight sight = Sight::causal;
  /// Stored cells before this one are not seen; of networks without recurrent layers.
  std::size_t seen_from = 0;
  std::span<const std::uint64_t> sight_bits = {};            ///< (tokens.size() + 63) / 64 words a row
  std::span<const std::uint32_t> positions = {};             ///< empty: counted on from the length of the stored state
  std::span<const std::int32_t> types = {};                  ///< see PassRows::types
  std::span<const std::span<const float>> soft_tokens = {};  ///< see PassRows::soft_tokens
  std::span<const Yield> yields = {};                        ///< ascending by row
};

/// One entry for each yield.
struct PassAnswer {
  std::vector<RowStatistics> statistics;
  std::vector<YieldResult> results;
};

class Session {
 public:
  virtual ~Session() = default;

  /// `const Result<PassAnswer> answer = co_await session.pass(request);` with a named request.
  auto pass(const PassRequest& request) {
    struct Awaiter {
      Session& session;
      const PassRequest& request;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> waiter) const { session.submit(request, waiter); }
      Result<PassAnswer> await_resume() const { return session.take_answer(); }
    };
    return Awaiter{*this, request};
  }

  /// Cells that the stored state holds.
  [[nodiscard]] virtual std::size_t state_length() const = 0;
  /// Forgets the stored state from cell `length` on.
  virtual void truncate_state(std::size_t length) = 0;
  /// Most cells the sequence may have.
  [[nodiscard]] virtual std::size_t context_length() const = 0;
  virtual void emit(const Event& event) = 0;

 protected:
  friend class GuidedSession;  // waits for two sessions at once
  /// A decoder that submits to several sessions is resumed once, when the last of its passes has come back.
  virtual void submit(const PassRequest& request, std::coroutine_handle<> waiter) = 0;
  virtual Result<PassAnswer> take_answer() = 0;
};

}  // namespace plm
