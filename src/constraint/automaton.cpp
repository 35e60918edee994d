#include "constraint/automaton.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plm {
namespace {

using Kind = Grammar::Kind;

std::uint32_t saturating_add(std::uint32_t a, std::uint32_t b) { return a > kNoLength - b ? kNoLength : a + b; }

}  // namespace

// Unfolds what may come first until it reads something. A list of things to do instead of recursion.
class Automaton::Expansion {
 public:
  Expansion(Automaton& automaton, Closure& out) : a_(automaton), out_(out) {}

  void enter(Part part, std::uint32_t below) { todo_.push_back({part, 0, below}); }
  void resume(std::uint32_t stack) {
    if (stack == kBottom) {
      out_.accepts = true;
      return;
    }
    const StackNode& node = a_.stacks_[stack];
    todo_.push_back({node.part, node.progress, node.below});
  }
  void run() {
    while (!todo_.empty() && !a_.failure_) {
      const Item item = todo_.back();
      todo_.pop_back();
      if (is_new(item)) unfold(item);
    }
  }

 private:
  struct Item {
    Part part;
    std::uint32_t progress;
    std::uint32_t below;
  };

  // A repetition of what may be empty offers no more after some rounds than before them.
  bool is_new(const Item& item) {
    const Grammar::Node& n = a_.grammar_.node(item.part);
    if (n.kind == Kind::regular || n.kind == Kind::token) return true;  // threads are sorted out later
    const bool rounds = n.kind == Kind::repeat && a_.grammar_.shortest(static_cast<Part>(n.first)) == 0;
    const std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(item.part)} << 32U | item.below;
    const std::uint32_t progress = rounds ? item.progress : 0;
    auto& seen = seen_[place];
    if (rounds) {
      const bool fewer = seen.empty() || progress < seen.front();
      if (fewer) seen.assign(1, progress);
      return fewer;
    }
    if (std::find(seen.begin(), seen.end(), item.progress) != seen.end()) return false;
    seen.push_back(item.progress);
    return true;
  }

  void unfold(const Item& item) {
    const Grammar& grammar = a_.grammar_;
    const Grammar::Node& n = grammar.node(item.part);
    switch (n.kind) {
      case Kind::empty: resume(item.below); return;
      case Kind::nothing: return;
      case Kind::regular:
        a_.add_thread({n.first, item.below}, out_);
        if (a_.store().nullable(static_cast<Regular>(n.first))) resume(item.below);
        return;
      case Kind::token:
        a_.add_thread({static_cast<std::uint32_t>(item.part) | Thread::kToken, item.below}, out_);
        return;
      case Kind::rule: enter(grammar.rule(static_cast<RuleId>(n.first)).body, item.below); return;
      case Kind::choice:
        for (const Part child : grammar.children(n)) enter(child, item.below);
        return;
      case Kind::sequence: {
        const Part child = grammar.children(n)[item.progress];
        const bool last = item.progress + 1 == n.second;
        enter(child, last ? item.below : a_.push(item.part, item.progress + 1, item.below));
        return;
      }
      case Kind::repeat: {
        const auto child = static_cast<Part>(n.first);
        if (item.progress >= n.min || grammar.shortest(child) == 0) resume(item.below);
        if (item.progress >= n.max) return;
        const std::uint32_t more = n.max == kUnbounded ? std::min(item.progress + 1, n.min) : item.progress + 1;
        enter(child, more == n.max ? item.below : a_.push(item.part, more, item.below));
        return;
      }
    }
  }

  Automaton& a_;
  Closure& out_;
  std::vector<Item> todo_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> seen_;
};

Automaton::Automaton(Grammar grammar) : grammar_(std::move(grammar)) {
  // Bytes fall into one class if every set holds both or neither.
  std::unordered_map<std::uint64_t, std::uint8_t> split;
  for (const ByteSet& set : grammar_.regular().byte_sets()) {
    split.clear();
    std::array<std::uint8_t, 256> refined{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint64_t key =
          std::uint64_t{class_of_[byte]} << 1U | (set.contains(static_cast<std::uint8_t>(byte)) ? 1U : 0U);
      refined[byte] = split.emplace(key, static_cast<std::uint8_t>(split.size())).first->second;
    }
    class_of_ = refined;
  }
  classes_ = 1U + *std::max_element(class_of_.begin(), class_of_.end());

  std::size_t children = 0;
  for (std::uint32_t i = 0; i < grammar_.size(); ++i) {
    const Grammar::Node& n = grammar_.node(static_cast<Part>(i));
    if (n.kind == Kind::sequence) children = std::max<std::size_t>(children, n.first + n.second);
  }
  suffix_shortest_.assign(children, 0);
  for (std::uint32_t i = 0; i < grammar_.size(); ++i) {
    const Grammar::Node& n = grammar_.node(static_cast<Part>(i));
    if (n.kind != Kind::sequence) continue;
    std::uint32_t rest = 0;
    for (std::uint32_t child = n.second; child-- > 0;) {
      rest = saturating_add(rest, grammar_.shortest(grammar_.children(n)[child]));
      suffix_shortest_[n.first + child] = rest;
    }
  }
  stacks_.emplace_back();
  closures_.emplace_back();
  states_.emplace_back();  // dead
  next_.assign(classes_, 0);
}

void Automaton::fail_with(Error error) {
  if (!failure_) failure_ = std::move(error);
}

std::size_t Automaton::bytes() const {
  return next_.capacity() * sizeof(std::uint32_t) + states_.capacity() * sizeof(State) +
         threads_.capacity() * sizeof(Thread) + stacks_.capacity() * (sizeof(StackNode) + sizeof(Closure)) +
         state_index_.bytes() + stack_index_.bytes();
}

StateId Automaton::start() {
  if (!start_) {
    Closure closure;
    Expansion expansion(*this, closure);
    expansion.enter(grammar_.root(), kBottom);
    expansion.run();
    start_ = state_of(std::move(closure.threads), closure.accepts);
  }
  return *start_;
}

std::uint32_t Automaton::shortest_rest(Part part, std::uint32_t progress) const {
  const Grammar::Node& n = grammar_.node(part);
  if (n.kind == Kind::sequence) return suffix_shortest_[n.first + progress];
  const std::uint64_t rounds = n.min > progress ? n.min - progress : 0;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(rounds * grammar_.shortest(static_cast<Part>(n.first)), kNoLength - 1));
}

std::uint32_t Automaton::push(Part part, std::uint32_t progress, std::uint32_t below) {
  const std::uint64_t hash = mix_hash(mix_hash(static_cast<std::uint32_t>(part), progress), below);
  const auto found = stack_index_.find(hash, [&](std::uint32_t id) {
    const StackNode& node = stacks_[id];
    return node.part == part && node.progress == progress && node.below == below;
  });
  if (found) return *found;
  const std::uint32_t depth = stacks_[below].depth + 1;
  if (depth > grammar_.limits().stack_depth) {
    fail_with(
        {ErrorKind::no_room, fmt::format("the text is nested more than {} deep, the most that a constraint follows",
                                         grammar_.limits().stack_depth)});
    return kBottom;
  }
  const std::uint32_t shortest =
      std::min(saturating_add(shortest_rest(part, progress), stacks_[below].shortest), kNoLength - 1);
  const auto id = static_cast<std::uint32_t>(stacks_.size());
  stacks_.push_back({part, progress, below, depth, shortest});
  closures_.emplace_back();
  stack_index_.insert(hash, id);
  return id;
}

const Automaton::Closure& Automaton::closure(std::uint32_t stack) {
  if (!closures_[stack]) {
    Closure made;
    Expansion expansion(*this, made);
    expansion.resume(stack);
    expansion.run();
    closures_[stack] = std::move(made);
  }
  return *closures_[stack];
}

std::uint32_t Automaton::shortest_of(const Thread& thread) {
  if (thread.is_token()) return std::min(saturating_add(1, stacks_[thread.stack].shortest), kNoLength - 1);
  const auto own = store().shortest(thread.regular());
  if (!own) {
    fail_with(own.error());
    return kNoLength;
  }
  if (*own == kNoLength) return kNoLength;
  return std::min(saturating_add(*own, stacks_[thread.stack].shortest), kNoLength - 1);
}

// Unless it cannot be ended, or has nothing left to read.
void Automaton::add_thread(Thread thread, Closure& out) {
  if (thread.head == static_cast<std::uint32_t>(Regular::empty)) return;
  if (shortest_of(thread) == kNoLength) return;
  out.threads.push_back(thread);
}

StateId Automaton::state_of(std::vector<Thread> threads, bool accepts) {
  if (failure_) return StateId::dead;
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  if (threads.empty() && !accepts) return StateId::dead;
  std::uint64_t hash = accepts ? 1 : 0;
  for (const Thread& thread : threads) hash = mix_hash(hash, std::uint64_t{thread.head} << 32U | thread.stack);
  const auto found = state_index_.find(hash, [&](std::uint32_t id) {
    return states_[id].accepts == accepts && std::ranges::equal(this->threads(static_cast<StateId>(id)), threads);
  });
  if (found) return static_cast<StateId>(*found);
  const ConstraintLimits& limits = grammar_.limits();
  if (threads.size() > limits.threads_of_state) {
    fail_with({ErrorKind::no_room, fmt::format("the text may be read in more than {} ways at once; make the grammar "
                                               "less ambiguous",
                                               limits.threads_of_state)});
  } else if (bytes() > limits.automaton_bytes) {
    fail_with({ErrorKind::no_room, fmt::format("the constraint's automaton takes more than {} MB; make the grammar "
                                               "simpler",
                                               limits.automaton_bytes >> 20U)});
  } else if (store().exhausted()) {
    fail_with(store().exhaustion());
  }
  State state{.begin = static_cast<std::uint32_t>(threads_.size()), .size = static_cast<std::uint32_t>(threads.size())};
  state.accepts = accepts;
  for (const Thread& thread : threads) {
    state.shortest = std::min(state.shortest, shortest_of(thread));
    state.wants_tokens |= thread.is_token();
  }
  if (accepts) state.shortest = 0;
  if (failure_) return StateId::dead;
  const auto id = static_cast<std::uint32_t>(states_.size());
  states_.push_back(state);
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  next_.resize(next_.size() + classes_, kUnknown);
  state_index_.insert(hash, id);
  return static_cast<StateId>(id);
}

StateId Automaton::compute_step(StateId state, std::uint8_t byte) {
  Closure after;
  const State from = info(state);
  for (std::uint32_t i = 0; i < from.size && !failure_; ++i) {
    const Thread thread = threads_[from.begin + i];
    if (thread.is_token()) continue;
    const Regular rest = store().derivative(thread.regular(), byte);
    if (rest == Regular::nothing) continue;
    add_thread({static_cast<std::uint32_t>(rest), thread.stack}, after);
    if (!store().nullable(rest)) continue;
    const Closure& then = closure(thread.stack);
    after.threads.insert(after.threads.end(), then.threads.begin(), then.threads.end());
    after.accepts |= then.accepts;
  }
  const StateId next = state_of(std::move(after.threads), after.accepts);
  if (!failure_) next_[static_cast<std::size_t>(state) * classes_ + class_of_[byte]] = static_cast<std::uint32_t>(next);
  return next;
}

StateId Automaton::step_token(StateId state, TokenId token) {
  Closure after;
  const State from = info(state);
  for (std::uint32_t i = 0; i < from.size && from.wants_tokens && !failure_; ++i) {
    const Thread thread = threads_[from.begin + i];
    if (!thread.is_token()) continue;
    const TokenLiteral& literal = grammar_.token(grammar_.node(thread.part()));
    if (std::ranges::binary_search(literal.ids, token) == literal.negated) continue;
    const Closure& then = closure(thread.stack);
    after.threads.insert(after.threads.end(), then.threads.begin(), then.threads.end());
    after.accepts |= then.accepts;
  }
  return state_of(std::move(after.threads), after.accepts);
}

StateId Automaton::either(StateId a, StateId b) {
  if (a == b || b == StateId::dead) return a;
  if (a == StateId::dead) return b;
  std::vector<Thread> both(threads(a).begin(), threads(a).end());
  both.insert(both.end(), threads(b).begin(), threads(b).end());
  return state_of(std::move(both), accepts(a) || accepts(b));
}

ByteSet Automaton::next_bytes(StateId state) {
  ByteSet set;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (step(state, static_cast<std::uint8_t>(byte)) != StateId::dead) set.insert(static_cast<std::uint8_t>(byte));
  }
  return set;
}

std::optional<std::uint8_t> Automaton::forced_byte(StateId state) {
  const State at = info(state);
  if (at.accepts || at.wants_tokens) return std::nullopt;
  std::optional<unsigned> only;
  for (std::uint32_t i = 0; i < at.size; ++i) {
    unsigned first = 0;
    const auto runs = store().row(threads_[at.begin + i].regular());
    for (const RegularStore::Run& run : std::vector<RegularStore::Run>(runs.begin(), runs.end())) {
      if (run.target != Regular::nothing) {
        if (run.last != first || (only && *only != first)) return std::nullopt;
        only = first;
      }
      first = run.last + 1U;
    }
  }
  if (!only) return std::nullopt;
  return static_cast<std::uint8_t>(*only);
}

Result<std::vector<Automaton::Piece>> Automaton::completion(StateId state, std::size_t most) {
  std::vector<Piece> pieces;
  const State at = info(state);
  if (at.accepts) return pieces;
  if (at.shortest == kNoLength || at.shortest > most) {
    return fail(ErrorKind::no_room, "the shortest end of the text takes more than {} bytes", most);
  }
  for (std::uint32_t i = 0; i < at.size; ++i) {
    const Thread thread = threads_[at.begin + i];
    if (shortest_of(thread) != at.shortest) continue;
    if (thread.is_token()) {
      std::vector<Part> token{thread.part()};
      PLM_TRY(append_completion(token, pieces, most));
    } else {
      PLM_TRY_ASSIGN(const auto text, store().shortest_text(thread.regular()));
      pieces.emplace_back(*text);
    }
    std::vector<Part> parts;  // from the top of the stack down, so the last is to come first
    for (std::uint32_t stack = thread.stack; stack != kBottom; stack = stacks_[stack].below) {
      const StackNode& node = stacks_[stack];
      const Grammar::Node& n = grammar_.node(node.part);
      if (n.kind == Kind::sequence) {
        const auto rest = grammar_.children(n).subspan(node.progress);
        parts.insert(parts.end(), rest.begin(), rest.end());
      } else if (grammar_.shortest(static_cast<Part>(n.first)) > 0) {
        for (std::uint32_t k = node.progress; k < n.min; ++k) parts.push_back(static_cast<Part>(n.first));
      }
    }
    std::reverse(parts.begin(), parts.end());
    PLM_TRY(append_completion(parts, pieces, most));
    return pieces;
  }
  return pieces;
}

// The shortest texts of `parts`, of which the last comes first.
Result<void> Automaton::append_completion(std::vector<Part>& parts, std::vector<Piece>& out, std::size_t most) {
  const auto append = [&](std::string_view text) {
    if (out.empty() || !std::holds_alternative<std::string>(out.back())) out.emplace_back(std::string());
    std::get<std::string>(out.back()) += text;
  };
  for (std::size_t steps = 0; !parts.empty(); ++steps) {
    if (steps > 64 * (most + 1024)) return fail(ErrorKind::no_room, "the end of the text takes too long to be found");
    const Part part = parts.back();
    parts.pop_back();
    const Grammar::Node& n = grammar_.node(part);
    if (grammar_.shortest(part) == 0) continue;
    switch (n.kind) {
      case Kind::empty:
      case Kind::nothing: break;
      case Kind::regular: {
        PLM_TRY_ASSIGN(const auto text, store().shortest_text(static_cast<Regular>(n.first)));
        append(*text);
        break;
      }
      case Kind::token: {
        const TokenLiteral& literal = grammar_.token(n);
        TokenId token = literal.negated ? 0 : literal.ids.front();
        while (literal.negated && std::ranges::binary_search(literal.ids, token)) ++token;
        out.emplace_back(token);
        break;
      }
      case Kind::rule: parts.push_back(grammar_.rule(static_cast<RuleId>(n.first)).body); break;
      case Kind::repeat:
        for (std::uint32_t k = 0; k < n.min; ++k) parts.push_back(static_cast<Part>(n.first));
        break;
      case Kind::sequence: {
        const auto children = grammar_.children(n);
        parts.insert(parts.end(), children.rbegin(), children.rend());
        break;
      }
      case Kind::choice:
        for (const Part child : grammar_.children(n)) {
          if (grammar_.shortest(child) != grammar_.shortest(part)) continue;
          parts.push_back(child);
          break;
        }
        break;
    }
  }
  return {};
}

}  // namespace plm
