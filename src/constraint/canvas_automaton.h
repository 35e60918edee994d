// A constraint over whole tokens, as far as a page of some length can reach: states, and tokens in classes that no
// state tells apart (real schemas have 10 to 200 of them, whatever the vocabulary).
//
// Recursion is followed to a depth and no deeper, so that the language is regular: what is left is a part of the
// constraint's language, every text of which is valid. A text that ends before the page does is followed by end tokens.
// Immutable, so threads may share it. Tested by tests/constraint/test_canvas_lattice.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "constraint/automaton.h"
#include "constraint/token_trie.h"

namespace plm {

struct CanvasLimits {
  std::size_t states = 20'000;
  std::size_t work = 400'000'000;  ///< tokens looked at, over all states
  std::uint32_t depth = 32;        ///< parts of the grammar that wait for an inner one to end; less where it must be
  std::size_t spare = 64;          ///< slots more than the page has, to say how many are missing
};

class CanvasAutomaton {
 public:
  using State = std::uint32_t;
  using TokenClass = std::uint32_t;
  struct Arc {
    TokenClass tokens = 0;
    State target = 0;
  };

  /// What a page of `slots` tokens can reach. Errors: no_room (more states than the limit), bad_input (the grammar asks
  /// for any token but some), unsatisfiable (no text of tokens fits the page and the spare slots).
  static Result<std::shared_ptr<const CanvasAutomaton>> create(Grammar grammar, const TokenTrie& trie,
                                                               std::size_t slots, const CanvasLimits& limits = {});

  [[nodiscard]] std::size_t vocabulary() const { return class_of_.size(); }
  [[nodiscard]] std::size_t states() const { return accepts_.size(); }
  [[nodiscard]] std::size_t classes() const { return first_token_.size(); }
  [[nodiscard]] TokenClass class_of(TokenId token) const { return class_of_[static_cast<std::size_t>(token)]; }
  /// The lowest id of a class.
  [[nodiscard]] TokenId first_token(TokenClass tokens) const { return first_token_[tokens]; }
  [[nodiscard]] std::size_t class_size(TokenClass tokens) const { return class_sizes_[tokens]; }
  [[nodiscard]] State start() const { return 0; }
  [[nodiscard]] bool accepts(State state) const { return accepts_[state]; }
  /// From states that can be ended only to such.
  [[nodiscard]] std::span<const Arc> arcs(State state) const {
    return std::span(arcs_).subspan(arc_begin_[state], arc_begin_[state + 1] - arc_begin_[state]);
  }
  /// Whether recursion was cut: texts that are deeper are valid but never written.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  class Builder;

  std::vector<TokenClass> class_of_;
  std::vector<TokenId> first_token_;
  std::vector<std::size_t> class_sizes_;
  std::vector<bool> accepts_;
  std::vector<std::size_t> arc_begin_;
  std::vector<Arc> arcs_;
  bool is_cut_ = false;
};

}  // namespace plm
