// Runs a grammar byte by byte: a pushdown automaton that is made deterministic where somebody looks.
//
// A thread is one way to read the text so far: the expression that is being read and the stack of what must follow.
// A state is a set of threads; equal sets are one state, so a state is a number and forking, going back and remembering
// cost nothing. What follows the last part of a sequence is not put on the stack, so recursion at the end of a rule
// does not grow it. What must stay true: a state that is not kDead can be completed; equal texts lead to equal states.
// Not thread-safe. Tested by tests/constraint/test_automaton.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"
#include "constraint/id_table.h"

namespace plm {

enum class StateId : std::uint32_t { dead = 0 };

class Automaton {
 public:
  explicit Automaton(Grammar grammar);

  /// Before the first byte. kDead only past a limit.
  [[nodiscard]] StateId start();
  /// After one byte more.
  [[nodiscard]] StateId step(StateId state, std::uint8_t byte) {
    const std::uint32_t next = next_[static_cast<std::size_t>(state) * classes_ + class_of_[byte]];
    return next != kUnknown ? static_cast<StateId>(next) : compute_step(state, byte);
  }
  [[nodiscard]] StateId step(StateId state, std::string_view text) {
    for (const char byte : text) state = step(state, static_cast<std::uint8_t>(byte));
    return state;
  }
  /// After one whole token that token literals read.
  [[nodiscard]] StateId step_token(StateId state, TokenId token);
  /// Where the text may be read as either.
  [[nodiscard]] StateId either(StateId a, StateId b);

  /// Whether the text may end here.
  [[nodiscard]] bool accepts(StateId state) const { return info(state).accepts; }
  /// Bytes (a token literal counts as one) that end the text soonest; kNoLength: dead.
  [[nodiscard]] std::uint32_t shortest(StateId state) const { return info(state).shortest; }
  /// How many parts of the grammar wait for an inner one to end, at most: what recursion makes grow.
  [[nodiscard]] std::uint32_t depth(StateId state) const {
    std::uint32_t deepest = 0;
    for (const Thread& thread : threads(state)) deepest = std::max(deepest, stacks_[thread.stack].depth);
    return deepest;
  }
  /// Whether a token literal may come next.
  [[nodiscard]] bool wants_tokens(StateId state) const { return info(state).wants_tokens; }
  /// Calls `visit` for each token literal that may come next.
  template <typename Visit>
  void for_each_token_literal(StateId state, Visit visit) const {
    for (const Thread& thread : threads(state)) {
      if (thread.is_token()) visit(grammar_.token(grammar_.node(thread.part())));
    }
  }

  /// The byte that must come next; nullopt if there are several, or the text may end.
  [[nodiscard]] std::optional<std::uint8_t> forced_byte(StateId state);
  /// What ends the text soonest: texts and tokens in turn. Errors: no_room (longer than `most` bytes).
  using Piece = std::variant<std::string, TokenId>;
  [[nodiscard]] Result<std::vector<Piece>> completion(StateId state, std::size_t most);
  /// For people: which bytes may come next.
  [[nodiscard]] ByteSet next_bytes(StateId state);

  /// Reads one expression at a time: what a state is made of, for those who look into it.
  struct Thread {
    std::uint32_t head = 0;   // a Regular, or a token literal's Part with the highest bit set
    std::uint32_t stack = 0;  // what follows
    static constexpr std::uint32_t kToken = 0x80000000U;
    [[nodiscard]] bool is_token() const { return (head & kToken) != 0; }
    [[nodiscard]] Part part() const { return static_cast<Part>(head & ~kToken); }
    [[nodiscard]] Regular regular() const { return static_cast<Regular>(head); }
    friend bool operator==(const Thread&, const Thread&) = default;
    friend auto operator<=>(const Thread&, const Thread&) = default;
  };
  [[nodiscard]] std::span<const Thread> threads(StateId state) const {
    return std::span(threads_).subspan(info(state).begin, info(state).size);
  }
  /// The state made of these threads.
  [[nodiscard]] StateId state_of(std::vector<Thread> threads, bool accepts);
  [[nodiscard]] RegularStore& store() { return grammar_.regular(); }

  /// What went wrong; states after that are dead and mean nothing.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t states() const { return states_.size(); }

 private:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFFU;
  static constexpr std::uint32_t kBottom = 0;

  struct State {
    std::uint32_t begin = 0, size = 0;  // into threads_
    std::uint32_t shortest = kNoLength;
    bool accepts = false;
    bool wants_tokens = false;
  };
  // One part that goes on when what is above it is done.
  struct StackNode {
    Part part = Part::empty;
    std::uint32_t progress = 0;  // sequence: next child; repeat: how often it was read
    std::uint32_t below = kBottom;
    std::uint32_t depth = 0;
    std::uint32_t shortest = 0;  // of all that follows
  };
  struct Closure {  // what may be read when a stack goes on
    std::vector<Thread> threads;
    bool accepts = false;
  };
  class Expansion;

  [[nodiscard]] const State& info(StateId state) const { return states_[static_cast<std::uint32_t>(state)]; }
  StateId compute_step(StateId state, std::uint8_t byte);
  std::uint32_t push(Part part, std::uint32_t progress, std::uint32_t below);
  [[nodiscard]] std::uint32_t shortest_rest(Part part, std::uint32_t progress) const;
  const Closure& closure(std::uint32_t stack);
  [[nodiscard]] std::uint32_t shortest_of(const Thread& thread);
  void add_thread(Thread thread, Closure& out);
  void fail_with(Error error);
  Result<void> append_completion(std::vector<Part>& parts, std::vector<Piece>& out, std::size_t most);

  Grammar grammar_;
  std::vector<std::uint32_t> suffix_shortest_;  // by child of a sequence: what is left from there on
  std::array<std::uint8_t, 256> class_of_{};    // bytes that no expression tells apart
  std::size_t classes_ = 0;
  std::vector<std::uint32_t> next_;  // [state, class]
  std::vector<State> states_;
  std::vector<Thread> threads_;
  IdTable state_index_;
  std::vector<StackNode> stacks_;
  IdTable stack_index_;
  std::vector<std::optional<Closure>> closures_;  // by stack
  std::optional<StateId> start_;
  std::optional<Error> failure_;
};

}  // namespace plm
