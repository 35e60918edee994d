#include "constraint/token_constraint.h"

#include <algorithm>
#include <utility>

namespace plm {
namespace {

using Kind = RegularStore::Kind;

std::uint64_t key(Regular expression, std::size_t part) {
  return std::uint64_t{static_cast<std::uint32_t>(expression)} << 8U | part;
}

}  // namespace

TokenConstraint::TokenConstraint(Grammar grammar, std::shared_ptr<const TokenTrie> trie)
    : trie_(std::move(trie)), automaton_(std::move(grammar)), path_(trie_->longest() + 1) {}

Result<std::shared_ptr<TokenConstraint>> TokenConstraint::create(Grammar grammar,
                                                                 std::shared_ptr<const TokenTrie> trie) {
  std::shared_ptr<TokenConstraint> made(new TokenConstraint(std::move(grammar), std::move(trie)));
  made->start_ = made->automaton_.start();
  PLM_TRY(made->check());
  // With a token for every byte whatever was begun can be ended; else at least one text is to be spelled.
  if (!made->trie_->has_every_byte() && made->automaton_.shortest(made->start_) <= kLongestClosing) {
    PLM_TRY(made->closing_locked(made->start_));
  }
  return made;
}

Result<void> TokenConstraint::check() const {
  if (automaton_.failure()) return tl::unexpected(*automaton_.failure());
  return {};
}

Result<std::shared_ptr<const TokenMask>> TokenConstraint::mask(StateId state) {
  const std::lock_guard lock(mutex_);
  return mask_locked(state);
}

Result<std::shared_ptr<const TokenMask>> TokenConstraint::mask_locked(StateId state) {
  const auto found = masks_.find(state);
  if (found != masks_.end()) return found->second;
  const StateId general = clamped(state);
  std::shared_ptr<const TokenMask> mask;
  const auto same = masks_.find(general);
  if (same != masks_.end()) {
    mask = same->second;
  } else {
    mask = computed_mask(general);
    PLM_TRY(check());
    masks_.emplace(general, mask);
  }
  masks_.emplace(state, mask);
  const std::size_t limit = automaton_.store().limits().automaton_bytes;
  if (masks_.size() * (trie_->size() / 8) > limit) masks_.clear();  // those in use live on
  return mask;
}

std::shared_ptr<TokenMask> TokenConstraint::computed_mask(StateId state) {
  auto mask = std::make_shared<TokenMask>();
  mask->allowed = TokenBits(trie_->size());
  const auto parts = trie_->parts();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (state_covers(state, part)) {
      mask->allowed.insert_all(parts[part].bits);
    } else {
      walk(part, state, *mask);
    }
  }
  if (automaton_.wants_tokens(state)) add_literals(state, *mask);
  if (automaton_.accepts(state)) {
    for (const TokenId end : trie_->end_tokens()) mask->allowed.insert(end);
  }
  return mask;
}

// Whether a thread may read any text of the part's characters.
bool TokenConstraint::state_covers(StateId state, std::size_t part) {
  const std::size_t parts = trie_->parts().size();
  const std::size_t at = static_cast<std::size_t>(state) * parts + part;
  if (at >= states_cover_.size()) states_cover_.resize(parts * automaton_.states(), Covered::unknown);
  if (states_cover_[at] == Covered::unknown) {
    bool whole = false;
    for (std::size_t i = 0; i < automaton_.threads(state).size() && !whole; ++i) {
      const Automaton::Thread thread = automaton_.threads(state)[i];
      whole = !thread.is_token() && covers(thread.regular(), part);
    }
    states_cover_[at] = whole ? Covered::yes : Covered::no;
  }
  return states_cover_[at] == Covered::yes;
}

// Whether most tokens of the part begin with a byte after which any of its texts may follow, as where a name may be
// anything but some others.
bool TokenConstraint::is_mostly_covered(std::size_t part, StateId state) {
  const TokenTrie::Part& tokens = trie_->parts()[part];
  std::size_t covered = 0;
  for (std::size_t at = 0; at + 1 < tokens.nodes.size(); at = tokens.nodes[at].end) {
    const StateId next = automaton_.step(state, tokens.nodes[at].byte);
    if (next == StateId::dead || !state_covers(next, part)) continue;
    covered += tokens.nodes[tokens.nodes[at].end].tokens - tokens.nodes[at].tokens;
  }
  return 2 * covered > tokens.ids.size();
}

// Adds the tokens of the part that fit. Where most do, all are added first and the others taken out.
void TokenConstraint::walk(std::size_t part, StateId state, TokenMask& mask) {
  const TokenTrie::Part& tokens = trie_->parts()[part];
  const bool takes_out = !tokens.characters.empty() && is_mostly_covered(part, state);
  if (takes_out) mask.allowed.insert_all(tokens.bits);
  const std::uint32_t from = automaton_.shortest(state);
  std::uint32_t longest = from;
  path_[0] = state;
  const std::size_t end = tokens.nodes.size() - 1;
  for (std::size_t at = 0; at < end;) {
    const TokenTrie::Node& node = tokens.nodes[at];
    const StateId next = automaton_.step(path_[node.depth], node.byte);
    const bool is_dead = next == StateId::dead;
    if (is_dead || (takes_out && state_covers(next, part))) {
      if (!is_dead) longest = std::max(longest, automaton_.shortest(next));
      const std::uint32_t last = is_dead && takes_out ? tokens.nodes[node.end].tokens : node.tokens;
      for (std::uint32_t i = node.tokens; i < last; ++i) mask.allowed.erase(tokens.ids[i]);
      at = node.end;
      continue;
    }
    path_[node.depth + 1U] = next;
    ++at;
    if (node.tokens == tokens.nodes[at].tokens) continue;
    longest = std::max(longest, automaton_.shortest(next));
    for (std::uint32_t i = node.tokens; i < tokens.nodes[at].tokens; ++i) mask.allowed.insert(tokens.ids[i]);
  }
  mask.growth = std::max(mask.growth, longest - from);
}

void TokenConstraint::add_literals(StateId state, TokenMask& mask) {
  std::vector<TokenLiteral> literals;
  automaton_.for_each_token_literal(state, [&](const TokenLiteral& literal) { literals.push_back(literal); });
  for (const TokenLiteral& literal : literals) {
    if (!literal.negated) {
      for (const TokenId id : literal.ids) {
        if (static_cast<std::size_t>(id) < trie_->size()) mask.allowed.insert(id);
      }
    } else {
      TokenBits others(trie_->size());
      for (std::size_t id = 0; id < trie_->size(); ++id) others.insert(static_cast<TokenId>(id));
      for (const TokenId id : literal.ids) others.erase(id);
      for (const TokenId end : trie_->end_tokens()) others.erase(end);
      mask.allowed.insert_all(others);
    }
  }
  // What follows a literal is not looked at: the budget counts anew in the next state.
  mask.growth = std::max<std::uint32_t>(mask.growth, kNoLength / 2);
}

// Whether the expression may read any text of the part's characters that is as long as its longest token.
bool TokenConstraint::covers(Regular expression, std::size_t part) {
  const TokenTrie::Part& tokens = trie_->parts()[part];
  if (tokens.characters.empty() || tokens.ids.empty()) return false;
  const auto known = covers_.find(key(expression, part));
  if (known != covers_.end()) return known->second;
  const RegularStore::Node n = automaton_.store().node(expression);
  bool result = false;
  switch (n.kind) {
    case Kind::concatenation: result = covers(static_cast<Regular>(n.first), part); break;
    case Kind::repeat: result = n.max >= tokens.longest && body_covers(static_cast<Regular>(n.first), part); break;
    case Kind::alternation: {
      const auto members = automaton_.store().children(n);
      for (const Regular member : std::vector<Regular>(members.begin(), members.end())) result |= covers(member, part);
      break;
    }
    case Kind::intersection: {
      if (!meets_itself(expression)) break;
      result = true;
      const auto members = automaton_.store().children(n);
      for (const Regular member : std::vector<Regular>(members.begin(), members.end())) result &= covers(member, part);
      break;
    }
    default: break;
  }
  covers_.emplace(key(expression, part), result);
  return result;
}

bool TokenConstraint::body_covers(Regular body, std::size_t part) {
  const auto known = body_covers_.find(key(body, part));
  if (known != body_covers_.end()) return known->second;
  RegularStore& store = automaton_.store();
  const auto contains = store.contains(body, store.characters(trie_->parts()[part].characters));
  const bool result = contains.has_value() && *contains;
  body_covers_.emplace(key(body, part), result);
  return result;
}

// Of an intersection: whether all members are plain repetitions with a number of rounds in common, so that what each of
// them may begin with, all together may.
bool TokenConstraint::meets_itself(Regular expression) const {
  const RegularStore& store = const_cast<Automaton&>(automaton_).store();
  std::uint32_t min = 0, max = kUnbounded;
  for (const Regular member : store.children(store.node(expression))) {
    const RegularStore::Node& n = store.node(member);
    if (n.kind != Kind::repeat) return false;
    min = std::max(min, n.min);
    max = std::min(max, n.max);
  }
  return min <= max;
}

// The same state with counters that no token can exhaust made unbounded.
StateId TokenConstraint::clamped(StateId state) {
  const auto at = automaton_.threads(state);
  std::vector<Automaton::Thread> threads(at.begin(), at.end());
  bool changed = false;
  for (Automaton::Thread& thread : threads) {
    if (thread.is_token()) continue;
    const Regular general = clamped(thread.regular());
    changed |= general != thread.regular();
    thread.head = static_cast<std::uint32_t>(general);
  }
  return changed ? automaton_.state_of(std::move(threads), automaton_.accepts(state)) : state;
}

Regular TokenConstraint::clamped(Regular expression) {
  RegularStore& store = automaton_.store();
  const RegularStore::Node n = store.node(expression);
  if (n.kind != Kind::repeat && n.kind != Kind::concatenation && n.kind != Kind::alternation &&
      n.kind != Kind::intersection) {
    return expression;
  }
  const auto known = clamped_.find(expression);
  if (known != clamped_.end()) return known->second;
  const auto most = static_cast<std::uint32_t>(trie_->longest() + 1);
  Regular result = expression;
  if (n.kind == Kind::repeat) {
    result = store.repeat(static_cast<Regular>(n.first), n.min, n.max > most ? kUnbounded : n.max);
  } else if (n.kind == Kind::concatenation) {
    result = store.concatenate(clamped(static_cast<Regular>(n.first)), static_cast<Regular>(n.second));
  } else if (n.kind == Kind::alternation || meets_itself(expression)) {
    const auto children = store.children(n);
    std::vector<Regular> members(children.begin(), children.end());
    for (Regular& member : members) member = clamped(member);
    result = n.kind == Kind::alternation ? store.alternate(members) : store.intersect(members);
  }
  clamped_.emplace(expression, result);
  return result;
}

Result<StateId> TokenConstraint::advance(StateId state, TokenId token) {
  const std::lock_guard lock(mutex_);
  const StateId next = advance_locked(state, token);
  PLM_TRY(check());
  return next;
}

StateId TokenConstraint::advance_locked(StateId state, TokenId token) {
  const std::string_view text = trie_->text(token);
  const StateId by_bytes = text.empty() ? StateId::dead : automaton_.step(state, text);
  return automaton_.wants_tokens(state) ? automaton_.either(by_bytes, automaton_.step_token(state, token)) : by_bytes;
}

bool TokenConstraint::accepts(StateId state) {
  const std::lock_guard lock(mutex_);
  return automaton_.accepts(state);
}

std::uint32_t TokenConstraint::shortest(StateId state) {
  const std::lock_guard lock(mutex_);
  return automaton_.shortest(state);
}

StateId TokenConstraint::step(StateId state, std::string_view text) {
  const std::lock_guard lock(mutex_);
  return automaton_.step(state, text);
}

// Whether closing() of the state has at most `tokens`.
bool TokenConstraint::closes_within(StateId state, std::size_t tokens) {
  const std::uint32_t bytes = automaton_.shortest(state);
  if (bytes <= tokens) return true;
  if (bytes / trie_->longest() > tokens) return false;
  auto known = closing_tokens_.find(state);
  if (known == closing_tokens_.end()) {
    const auto closing = closing_locked(state);
    known = closing_tokens_.emplace(state, closing ? closing->size() : kLongestClosing).first;
  }
  return known->second <= tokens;
}

Result<TokenBits> TokenConstraint::mask_within(StateId state, std::size_t tokens_left) {
  const std::lock_guard lock(mutex_);
  PLM_TRY_ASSIGN(const auto mask, mask_locked(state));
  TokenBits allowed(trie_->size());
  mask->allowed.for_each([&](TokenId token) {
    const bool ends = std::ranges::find(trie_->end_tokens(), token) != trie_->end_tokens().end();
    if ((ends && automaton_.accepts(state)) || closes_within(advance_locked(state, token), tokens_left - 1)) {
      allowed.insert(token);
    }
  });
  PLM_TRY(check());
  return allowed;
}

Result<std::vector<TokenId>> TokenConstraint::closing(StateId state) {
  const std::lock_guard lock(mutex_);
  return closing_locked(state);
}

Result<std::vector<TokenId>> TokenConstraint::closing_locked(StateId state) {
  PLM_TRY_ASSIGN(const auto pieces, automaton_.completion(state, kLongestClosing));
  std::vector<TokenId> tokens;
  for (const Automaton::Piece& piece : pieces) {
    if (const TokenId* token = std::get_if<TokenId>(&piece)) {
      tokens.push_back(*token);
      continue;
    }
    const std::string& text = std::get<std::string>(piece);
    const std::vector<TokenId> spelled = trie_->fewest_tokens(text);
    if (spelled.empty() && !text.empty()) {
      return fail(ErrorKind::bad_input, "the vocabulary cannot spell what the constraint asks for");
    }
    tokens.insert(tokens.end(), spelled.begin(), spelled.end());
  }
  return tokens;
}

std::string TokenConstraint::forced(StateId state, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::string text;
  while (text.size() < most && !automaton_.failure()) {
    const auto byte = automaton_.forced_byte(state);
    if (!byte) break;
    state = automaton_.step(state, *byte);
    if (state == StateId::dead) break;
    text.push_back(static_cast<char>(*byte));
  }
  return text;
}

}  // namespace plm
