#include "constraint/canvas_automaton.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace plm {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;

}  // namespace

// Looks at every state once with the whole vocabulary: where each token leads, which new states that gives, and which
// tokens it tells apart. The last state of all is the end, behind which only end tokens stand.
class CanvasAutomaton::Builder {
 public:
  Builder(Automaton& automaton, const TokenTrie& trie, const CanvasLimits& limits, std::uint32_t depth)
      : automaton_(automaton), trie_(trie), limits_(limits), depth_(depth), targets_(trie.size(), kNowhere) {
    class_of_.assign(trie.size(), 0);
  }

  // False: too many states at this depth.
  Result<bool> explore(std::size_t reach) {
    (void)number(automaton_.start());
    std::size_t level_end = 1;
    for (std::size_t i = 0, level = 0; i < states_.size(); ++i) {
      if (i == level_end) {
        ++level;
        level_end = states_.size();
      }
      if (level > reach) break;
      if (states_.size() > limits_.states || (i + 1) * trie_.size() > limits_.work) return false;
      PLM_TRY(look(states_[i]));
      refine();
      seen_ = i + 1;
    }
    return true;
  }

  Result<std::shared_ptr<const CanvasAutomaton>> finish() {
    auto made = std::make_shared<CanvasAutomaton>();
    made->is_cut_ = is_cut_;
    made->class_of_ = class_of_;
    made->first_token_.assign(classes_, kNoToken);
    made->class_sizes_.assign(classes_, 0);
    for (std::size_t id = class_of_.size(); id-- > 0;) {
      made->first_token_[class_of_[id]] = static_cast<TokenId>(id);
      ++made->class_sizes_[class_of_[id]];
    }
    std::vector<std::vector<Arc>> arcs = class_arcs(*made);
    PLM_TRY(drop_dead(arcs, *made));
    return std::shared_ptr<const CanvasAutomaton>(std::move(made));
  }

 private:
  std::uint32_t number(StateId state) {
    const auto [found, added] = numbers_.emplace(state, static_cast<std::uint32_t>(states_.size()));
    if (added) states_.push_back(state);
    return found->second;
  }

  // A state that is worth going to, or kNowhere.
  std::uint32_t reached(StateId state) {
    if (state == StateId::dead) return kNowhere;
    if (automaton_.depth(state) <= depth_) return number(state);
    is_cut_ = true;
    return kNowhere;
  }

  // Fills targets_ with where each token leads from `state`.
  Result<void> look(StateId state) {
    std::fill(targets_.begin(), targets_.end(), kNowhere);
    for (const TokenTrie::Part& part : trie_.parts()) walk(part, state);
    bool negated = false;
    std::vector<TokenId> literals;
    automaton_.for_each_token_literal(state, [&](const TokenLiteral& literal) {
      negated |= literal.negated;
      literals.insert(literals.end(), literal.ids.begin(), literal.ids.end());
    });
    if (negated)
      return fail(ErrorKind::bad_input,
                  "a constraint that names tokens which may not come cannot be used for a whole page");
    for (const TokenId id : literals) {
      targets_[static_cast<std::size_t>(id)] = reached(automaton_.step_token(state, id));
    }
    if (automaton_.accepts(state)) {
      for (const TokenId id : trie_.end_tokens()) targets_[static_cast<std::size_t>(id)] = kEnd;
    }
    if (automaton_.failure()) return tl::unexpected<Error>(*automaton_.failure());
    return {};
  }

  void walk(const TokenTrie::Part& part, StateId state) {
    path_.assign(trie_.longest() + 1, StateId::dead);
    path_[0] = state;
    const std::size_t count = part.nodes.size() - 1;
    for (std::size_t i = 0; i < count;) {
      const TokenTrie::Node& node = part.nodes[i];
      const StateId next = automaton_.step(path_[node.depth], node.byte);
      if (next == StateId::dead) {
        i = node.end;
        continue;
      }
      path_[node.depth + 1U] = next;
      const std::uint32_t first = node.tokens, last = part.nodes[i + 1].tokens;
      if (first < last) {
        const std::uint32_t target = reached(next);
        for (std::uint32_t k = first; k < last; ++k) targets_[static_cast<std::size_t>(part.ids[k])] = target;
      }
      ++i;
    }
  }

  // Splits the classes by where their tokens lead.
  void refine() {
    std::unordered_map<std::uint64_t, TokenClass> finer;
    for (std::size_t id = 0; id < class_of_.size(); ++id) {
      const std::uint64_t key = std::uint64_t{class_of_[id]} << 32U | targets_[id];
      class_of_[id] = finer.emplace(key, static_cast<TokenClass>(finer.size())).first->second;
    }
    classes_ = finer.size();
  }

  // Arcs of the states that were looked at and of the end, by one token of each class.
  std::vector<std::vector<Arc>> class_arcs(const CanvasAutomaton& made) {
    std::vector<std::vector<Arc>> arcs(seen_ + 1);
    std::vector<bool> ends(classes_, false);
    for (const TokenId id : trie_.end_tokens()) ends[class_of_[static_cast<std::size_t>(id)]] = true;
    const auto end = static_cast<State>(seen_);
    for (std::size_t i = 0; i < seen_; ++i) {
      for (TokenClass tokens = 0; tokens < classes_; ++tokens) {
        const std::uint32_t target = target_of(states_[i], made.first_token(tokens), ends[tokens]);
        if (target == kEnd) arcs[i].push_back({tokens, end});
        if (target < seen_) arcs[i].push_back({tokens, target});
      }
    }
    for (TokenClass tokens = 0; tokens < classes_; ++tokens) {
      if (ends[tokens]) arcs[end].push_back({tokens, end});
    }
    return arcs;
  }

  std::uint32_t target_of(StateId state, TokenId token, bool ends) {
    if (ends && automaton_.accepts(state)) return kEnd;
    bool literal = false;
    automaton_.for_each_token_literal(state, [&](const TokenLiteral& one) {
      literal |= std::find(one.ids.begin(), one.ids.end(), token) != one.ids.end();
    });
    if (!literal && trie_.text(token).empty()) return kNowhere;
    const StateId next = literal ? automaton_.step_token(state, token) : automaton_.step(state, trie_.text(token));
    if (next == StateId::dead || automaton_.depth(next) > depth_) return kNowhere;
    const auto found = numbers_.find(next);
    return found == numbers_.end() ? kNowhere : found->second;
  }

  // Keeps the states that can be ended; the start stays the first.
  Result<void> drop_dead(const std::vector<std::vector<Arc>>& arcs, CanvasAutomaton& made) {
    const std::size_t count = arcs.size();
    std::vector<std::vector<State>> from(count);
    for (State state = 0; state < count; ++state) {
      for (const Arc& arc : arcs[state]) from[arc.target].push_back(state);
    }
    std::vector<bool> alive(count, false);
    std::vector<State> work;
    const auto mark = [&](State state) {
      if (!alive[state]) work.push_back(state);
      alive[state] = true;
    };
    for (State state = 0; state < count; ++state) {
      if (state + 1 == count || automaton_.accepts(states_[state])) mark(state);
    }
    while (!work.empty()) {
      const State state = work.back();
      work.pop_back();
      for (const State before : from[state]) mark(before);
    }
    if (!alive[0])
      return fail(ErrorKind::unsatisfiable, "no text of the constraint fits the page, not even with 64 slots more");
    std::vector<State> renamed(count, kNowhere);
    State next = 0;
    for (State state = 0; state < count; ++state) {
      if (alive[state]) renamed[state] = next++;
    }
    made.arc_begin_.push_back(0);
    for (State state = 0; state < count; ++state) {
      if (!alive[state]) continue;
      made.accepts_.push_back(state + 1 == count || automaton_.accepts(states_[state]));
      for (const Arc& arc : arcs[state]) {
        if (alive[arc.target]) made.arcs_.push_back({arc.tokens, renamed[arc.target]});
      }
      made.arc_begin_.push_back(made.arcs_.size());
    }
    return {};
  }

  static constexpr std::uint32_t kEnd = 0xFFFFFFFEU;

  Automaton& automaton_;
  const TokenTrie& trie_;
  const CanvasLimits& limits_;
  std::uint32_t depth_;
  std::vector<std::uint32_t> targets_;  // of the state that is looked at, by token
  std::vector<TokenClass> class_of_;
  std::size_t classes_ = 1;
  std::vector<StateId> states_;
  std::size_t seen_ = 0;  // how many of them were looked at
  std::unordered_map<StateId, std::uint32_t> numbers_;
  std::vector<StateId> path_;
  bool is_cut_ = false;
};

Result<std::shared_ptr<const CanvasAutomaton>> CanvasAutomaton::create(Grammar grammar, const TokenTrie& trie,
                                                                       std::size_t slots, const CanvasLimits& limits) {
  Automaton automaton(std::move(grammar));
  for (std::uint32_t depth = limits.depth; depth > 0; depth /= 2) {
    Builder builder(automaton, trie, limits, depth);
    PLM_TRY_ASSIGN(const bool fits, builder.explore(slots + limits.spare));
    if (fits) return builder.finish();
  }
  return fail(ErrorKind::no_room,
              "the constraint has more than {} states on a page of {} tokens; ask for less depth or "
              "shorter texts",
              limits.states, slots);
}

}  // namespace plm
