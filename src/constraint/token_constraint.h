// What tokens a constraint allows: an automaton over bytes seen through a vocabulary.
//
// A mask is computed once for each state and kept, for all texts that are written under the constraint. Where an
// expression may read any text of a part's characters, that part of the vocabulary is allowed without a look at its
// tokens; counters beyond the longest token count as unbounded, so that a length limit does not make every state new.
// Thread-safe. Tested by tests/constraint/test_token_constraint.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "constraint/automaton.h"
#include "constraint/token_trie.h"

namespace plm {

/// The tokens that are allowed in a state.
struct TokenMask {
  TokenBits allowed;
  std::uint32_t growth = 0;  ///< by how many bytes the shortest completion may grow with a token
};

class TokenConstraint {
 public:
  /// Errors: bad_input (the vocabulary cannot spell what the constraint may ask for), no_room (past a limit).
  static Result<std::shared_ptr<TokenConstraint>> create(Grammar grammar, std::shared_ptr<const TokenTrie> trie);

  [[nodiscard]] const TokenTrie& trie() const { return *trie_; }
  [[nodiscard]] StateId start() const { return start_; }
  /// The mask of a state, end tokens included where the text may end. Errors: no_room.
  Result<std::shared_ptr<const TokenMask>> mask(StateId state);
  /// Of the mask of a state, the tokens after which the text can still be ended with `tokens_left` - 1 more.
  Result<TokenBits> mask_within(StateId state, std::size_t tokens_left);
  /// After one token; dead if it is not allowed. Errors: no_room.
  Result<StateId> advance(StateId state, TokenId token);
  [[nodiscard]] bool accepts(StateId state);
  /// Bytes of the shortest completion.
  [[nodiscard]] std::uint32_t shortest(StateId state);
  /// Tokens that end the text, as few as the shortest completion needs. Errors: no_room (it is too long).
  Result<std::vector<TokenId>> closing(StateId state);
  /// Bytes that must come next, at most `most`.
  std::string forced(StateId state, std::size_t most);
  /// Where bytes lead.
  StateId step(StateId state, std::string_view text);

  /// Longest completion that closing() spells, in bytes.
  static constexpr std::size_t kLongestClosing = 1U << 20U;

 private:
  TokenConstraint(Grammar grammar, std::shared_ptr<const TokenTrie> trie);
  StateId advance_locked(StateId state, TokenId token);
  Result<std::shared_ptr<const TokenMask>> mask_locked(StateId state);
  Result<std::vector<TokenId>> closing_locked(StateId state);
  bool closes_within(StateId state, std::size_t tokens);
  [[nodiscard]] Result<void> check() const;
  std::shared_ptr<TokenMask> computed_mask(StateId state);
  void walk(std::size_t part, StateId state, TokenMask& mask);
  bool is_mostly_covered(std::size_t part, StateId state);
  bool state_covers(StateId state, std::size_t part);
  void add_literals(StateId state, TokenMask& mask);
  bool covers(Regular expression, std::size_t part);
  bool body_covers(Regular body, std::size_t part);
  StateId clamped(StateId state);
  Regular clamped(Regular expression);
  [[nodiscard]] bool meets_itself(Regular expression) const;

  std::mutex mutex_;
  std::shared_ptr<const TokenTrie> trie_;
  Automaton automaton_;
  StateId start_ = StateId::dead;
  std::unordered_map<StateId, std::shared_ptr<const TokenMask>> masks_;
  std::unordered_map<std::uint64_t, bool> covers_;  // by expression and part
  std::unordered_map<std::uint64_t, bool> body_covers_;
  enum class Covered : std::uint8_t { unknown, yes, no };
  std::vector<Covered> states_cover_;  // [state, part]
  std::unordered_map<Regular, Regular> clamped_;
  std::unordered_map<StateId, std::size_t> closing_tokens_;
  std::vector<StateId> path_;
};

}  // namespace plm
