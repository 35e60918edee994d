#include "constraint/constraint_matcher.h"

#include <algorithm>

namespace plm {
namespace {

constexpr std::size_t kUnsettledTokens = 4;  // at the end of forced text, that may be spelled otherwise

}  // namespace

Result<void> ConstraintMatcher::check_budget(std::size_t tokens) {
  if (!closes_ || constraint_->shortest(path_.back()) <= tokens) return {};
  PLM_TRY_ASSIGN(const auto closing, constraint_->closing(path_.back()));
  if (closing.size() <= tokens) return {};
  return fail(ErrorKind::unsatisfiable,
              "the shortest text that fits the constraint takes {} tokens, and at most {} may be written; raise the "
              "limit, or let the text be cut (--no-close)",
              closing.size(), tokens);
}

Result<TokenBits> ConstraintMatcher::allowed(std::size_t tokens_left) {
  const StateId state = path_.back();
  PLM_TRY_ASSIGN(const auto mask, constraint_->mask(state));
  const std::uint64_t most_bytes = std::uint64_t{constraint_->shortest(state)} + mask->growth;
  TokenBits bits = mask->allowed;
  if (!closes_ || tokens_left > most_bytes) {
    plan_.clear();
  } else {
    const std::size_t done = size() - plan_at_;
    if (plan_.size() <= done) {
      PLM_TRY_ASSIGN(plan_, constraint_->closing(state));
      plan_at_ = size();
    }
    PLM_TRY_ASSIGN(bits, constraint_->mask_within(state, tokens_left));
    if (size() - plan_at_ < plan_.size()) bits.insert(plan_[size() - plan_at_]);
  }
  if (bits.count() == 0 && !accepts()) {
    return fail(ErrorKind::unsatisfiable, "no token of the vocabulary fits the constraint here");
  }
  return bits;
}

Result<bool> ConstraintMatcher::is_over() const {
  if (!accepts()) return false;
  PLM_TRY_ASSIGN(const auto mask, constraint_->mask(path_.back()));
  TokenBits text = mask->allowed;
  for (const TokenId end : constraint_->trie().end_tokens()) text.erase(end);
  return text.count() == 0;
}

Result<void> ConstraintMatcher::accept(TokenId token) {
  PLM_TRY_ASSIGN(const StateId next, constraint_->advance(path_.back(), token));
  if (next == StateId::dead) {
    return fail(ErrorKind::unsatisfiable, "token {} does not fit the constraint where it stands", token);
  }
  const std::size_t done = size() - plan_at_;
  if (done < plan_.size() && plan_[done] != token) plan_.clear(), plan_at_ = 0;
  path_.push_back(next);
  if (plan_.empty()) plan_at_ = size();
  return {};
}

void ConstraintMatcher::roll_back(std::size_t count) {
  path_.resize(path_.size() - std::min(count, size()));
  plan_.clear();
  plan_at_ = size();
}

std::vector<TokenId> ConstraintMatcher::settled(std::vector<TokenId> spelled) {
  const TokenTrie& trie = constraint_->trie();
  std::vector<StateId> before{path_.back()};
  for (const TokenId token : spelled) before.push_back(constraint_->step(before.back(), trie.text(token)));
  std::string rest;
  std::size_t keep = spelled.size();
  for (std::size_t at = spelled.size(); at > 0 && spelled.size() - at < kUnsettledTokens; --at) {
    rest.insert(0, trie.text(spelled[at - 1]));
    const bool replaceable = trie.any_longer(
        rest, [&](TokenId longer) { return constraint_->step(before[at - 1], trie.text(longer)) != StateId::dead; });
    if (replaceable) keep = at - 1;
  }
  spelled.resize(keep);
  return spelled;
}

}  // namespace plm
