// The state of texts that are over, for texts that begin with the same tokens.
//
// An entry is a list of tokens and the state that they left. A new text takes over the pages of the entry that agrees
// with it longest; nothing is copied but a last, half-filled page. By the numerics contract (DESIGN section 4) this
// changes no bit of what follows. Entries hold pages of the pool until it runs out of them: then the one unused for
// longest goes. Not thread-safe: the engine owns it. Tested by tests/engine/test_prefix_cache.cpp.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <vector>

#include "state/sequence_state.h"
#include "text/token.h"

namespace plm {

class PrefixCache {
 public:
  explicit PrefixCache(StatePools pools) : pools_(pools) {}

  /// Remembers `state`, which `tokens` left: one cell for each. It replaces entries whose tokens these begin with.
  void keep(std::vector<TokenId> tokens, const SequenceState& state);

  /// A state of the first n tokens of `tokens`, n as large as an entry allows (with recurrent layers a state goes back
  /// to some lengths only); n = 0 without one. A state knows its length.
  [[nodiscard]] SequenceState longest(std::span<const TokenId> tokens);

  /// Lets go of the entry unused for longest. False: there is none.
  bool forget_oldest();

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<TokenId> tokens;
    SequenceState state;
  };

  StatePools pools_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace plm
