#include "engine/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plm {
namespace {

std::size_t agreement(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

void PrefixCache::keep(std::vector<TokenId> tokens, const SequenceState& state) {
  PLM_CHECK(tokens.size() == state.length());
  if (tokens.empty()) return;
  entries_.remove_if([&](const Entry& entry) { return agreement(entry.tokens, tokens) == entry.tokens.size(); });
  entries_.push_front({std::move(tokens), state.fork()});
}

SequenceState PrefixCache::longest(std::span<const TokenId> tokens) {
  auto best = entries_.end();
  std::size_t best_length = 0;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const std::size_t length = entry->state.reachable(agreement(entry->tokens, tokens));
    if (length <= best_length) continue;
    best = entry;
    best_length = length;
  }
  if (best == entries_.end()) return SequenceState(pools_);
  entries_.splice(entries_.begin(), entries_, best);
  SequenceState state = best->state.fork();
  state.truncate(best_length);
  return state;
}

bool PrefixCache::forget_oldest() {
  if (entries_.empty()) return false;
  entries_.pop_back();
  return true;
}

}  // namespace plm
