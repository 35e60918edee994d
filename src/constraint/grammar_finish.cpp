// What a grammar must pass before an automaton runs it: every rule has a body, none begins with itself, some text fits;
// what no text fits is taken out, and small regular rules are put where they are used.
// Tested by tests/constraint/test_grammar.cpp.
#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/utf8.h"
#include "constraint/grammar.h"

namespace plm {
namespace {

using Kind = Grammar::Kind;

// What a rule that is put where it is used may weigh. A long repetition weighs much: its states are better shared by
// all places than multiplied by what follows there.
constexpr std::uint32_t kMostInlinedWeight = 24;
constexpr std::uint32_t kShortRepetitionWeight = 3, kRepetitionWeight = 12;

std::uint32_t number(Part part) { return static_cast<std::uint32_t>(part); }

// Calls `visit` for every part that `part` is made of.
template <typename Visit>
void for_each_child(const Grammar& grammar, const Grammar::Node& node, Visit visit) {
  switch (node.kind) {
    case Kind::empty:
    case Kind::nothing:
    case Kind::regular:
    case Kind::token: return;
    case Kind::rule: visit(grammar.rule(static_cast<RuleId>(node.first)).body); return;
    case Kind::repeat: visit(static_cast<Part>(node.first)); return;
    case Kind::sequence:
    case Kind::choice:
      for (const Part child : grammar.children(node)) visit(child);
      return;
  }
}

// For each part, the parts that it stands in (once for each place).
class Parents {
 public:
  explicit Parents(const Grammar& grammar) : begins_(grammar.size() + 1, 0) {
    for_all(grammar, [this](Part, Part child) { ++begins_[number(child) + 1]; });
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    parents_.resize(begins_.back());
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    for_all(grammar, [&](Part parent, Part child) { parents_[next[number(child)]++] = parent; });
  }
  [[nodiscard]] std::span<const Part> of(Part part) const {
    return std::span(parents_).subspan(begins_[number(part)], begins_[number(part) + 1] - begins_[number(part)]);
  }

 private:
  template <typename Visit>
  static void for_all(const Grammar& grammar, Visit visit) {
    for (std::uint32_t i = 0; i < grammar.size(); ++i) {
      const auto parent = static_cast<Part>(i);
      for_each_child(grammar, grammar.node(parent), [&](Part child) { visit(parent, child); });
    }
  }
  std::vector<std::uint32_t> begins_;
  std::vector<Part> parents_;
};

std::uint32_t saturated(std::uint64_t length) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, kNoLength - 1));
}

}  // namespace

// Knuth, "A generalization of Dijkstra's algorithm" (1977): lengths are settled from the shortest up. A part that is
// never reached has no text.
Result<void> Grammar::find_shortest() {
  const Parents parents(*this);
  shortest_.assign(size(), kNoLength);
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // length, part
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<std::uint32_t> missing(size(), 0);  // children of a sequence without a length yet
  std::vector<std::uint64_t> sums(size(), 0);
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Node& n = nodes_[i];
    if (n.kind == Kind::sequence) missing[i] = n.second;
    if (n.kind == Kind::empty || (n.kind == Kind::repeat && n.min == 0)) queue.emplace(0, i);
    if (n.kind == Kind::token && (tokens_[n.first].negated || !tokens_[n.first].ids.empty())) queue.emplace(1, i);
    if (n.kind == Kind::regular) {
      PLM_TRY_ASSIGN(const std::uint32_t length, regular_.shortest(static_cast<Regular>(n.first)));
      if (length != kNoLength) queue.emplace(length, i);
    }
  }
  while (!queue.empty()) {
    const auto [length, settled] = queue.top();
    queue.pop();
    if (shortest_[settled] != kNoLength) continue;
    shortest_[settled] = length;
    for (const Part parent : parents.of(static_cast<Part>(settled))) {
      const std::uint32_t at = number(parent);
      const Node& n = nodes_[at];
      if (shortest_[at] != kNoLength) continue;
      if (n.kind == Kind::sequence) {
        sums[at] += length;
        if (--missing[at] == 0) queue.emplace(saturated(sums[at]), at);
      } else if (n.kind == Kind::repeat) {
        queue.emplace(saturated(std::uint64_t{length} * n.min), at);
      } else {
        queue.emplace(length, at);
      }
    }
  }
  return {};
}

namespace {

tl::unexpected<Error> about(const Grammar::Rule& rule, const std::string& place, std::string_view what) {
  return fail(ErrorKind::bad_input, "{}{}rule '{}' {}", place, place.empty() ? "" : ": ", printable(rule.name), what);
}

}  // namespace

// Every rule has a body, and none can come to itself without reading anything.
Result<void> Grammar::check_rules(const RulePlace& place) const {
  const auto refuse = [&](std::uint32_t rule, std::string_view what) {
    return about(rules_[rule], place ? place(static_cast<RuleId>(rule)) : "", what);
  };
  // Depth first over what may stand first; a part that is met again on the way to itself is left recursion.
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(size(), Mark::fresh);
  std::vector<std::pair<Part, bool>> stack;
  for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
    if (!rules_[rule].defined) return refuse(rule, "is used and not defined; define it, or correct the name");
    stack.emplace_back(rules_[rule].body, false);
    std::uint32_t innermost = rule;
    while (!stack.empty()) {
      const auto [part, leaving] = stack.back();
      stack.pop_back();
      Mark& mark = marks[number(part)];
      if (leaving || mark == Mark::done) {
        mark = Mark::done;
        continue;
      }
      const Node& n = node(part);
      if (n.kind == Kind::rule) innermost = n.first;
      if (mark == Mark::open) {
        return refuse(innermost,
                      "is left-recursive: it can begin with itself without reading a character; write the repetition "
                      "with * or +, or put the recursion behind what is read");
      }
      mark = Mark::open;
      stack.emplace_back(part, true);
      bool skippable = true;
      for_each_child(*this, n, [&](Part child) {
        if (n.kind == Kind::sequence && !skippable) return;
        stack.emplace_back(child, false);
        skippable = shortest(child) == 0;
      });
    }
  }
  return {};
}

std::uint32_t GrammarBuilder::weight(Regular expression) const {
  const RegularStore& store = grammar_.regular();
  std::vector<Regular> pending{expression};
  std::uint32_t sum = 1;
  for (int steps = 0; !pending.empty(); ++steps) {
    const RegularStore::Node& n = store.node(pending.back());
    pending.pop_back();
    if (n.boolean || steps > 200) return kRepetitionWeight;
    if (n.kind == RegularStore::Kind::repeat) {
      const bool plain = store.node(static_cast<Regular>(n.first)).kind == RegularStore::Kind::bytes;
      sum += plain ? kShortRepetitionWeight : kRepetitionWeight;
    } else if (n.kind == RegularStore::Kind::concatenation) {
      pending.insert(pending.end(), {static_cast<Regular>(n.first), static_cast<Regular>(n.second)});
    } else if (n.kind == RegularStore::Kind::alternation) {
      const auto members = store.children(n);
      pending.insert(pending.end(), members.begin(), members.end());
    }
  }
  return sum;
}

// Rules that are regular, not recursive and small enough to stand in every place where they are used.
std::vector<bool> GrammarBuilder::small_regular_rules() const {
  const Parents parents(grammar_);
  std::vector<std::uint32_t> missing(grammar_.size(), 0), weights(grammar_.size(), 0);
  std::vector<Part> ready;
  for (std::uint32_t i = 0; i < grammar_.size(); ++i) {
    const Grammar::Node& n = grammar_.nodes_[i];
    for_each_child(grammar_, n, [&](Part) { ++missing[i]; });
    const bool leaf = n.kind == Kind::regular || n.kind == Kind::empty || n.kind == Kind::nothing;
    if (n.kind == Kind::regular) weights[i] = weight(static_cast<Regular>(n.first));
    if (leaf) ready.push_back(static_cast<Part>(i));
  }
  std::vector<bool> small(grammar_.size(), false);
  while (!ready.empty()) {
    const Part part = ready.back();
    ready.pop_back();
    small[number(part)] = true;
    for (const Part parent : parents.of(part)) {
      std::uint32_t& heavier = weights[number(parent)];
      heavier = std::min(heavier + weights[number(part)], kMostInlinedWeight + 1);
      if (--missing[number(parent)] == 0 && heavier <= kMostInlinedWeight) ready.push_back(parent);
    }
  }
  return small;
}

// The same grammar without what no text fits and with small regular parts made one expression.
Grammar GrammarBuilder::rebuilt(RuleId root) {
  const std::vector<bool> small = small_regular_rules();
  GrammarBuilder builder(grammar_.limits());
  builder.grammar_.regular_ = std::move(grammar_.regular_);
  builder.grammar_.tokens_ = std::move(grammar_.tokens_);
  RegularStore& store = builder.store();
  std::vector<Part> made(grammar_.size(), Part::nothing);
  std::vector<Part> members;
  // Children come before what they stand in, except through rules: those are kept, or their bodies are made first.
  const auto make = [&](std::uint32_t i) {
    const Grammar::Node& n = grammar_.nodes_[i];
    if (grammar_.shortest_[i] == kNoLength) return Part::nothing;
    switch (n.kind) {
      case Kind::empty: return Part::empty;
      case Kind::nothing: return Part::nothing;
      case Kind::regular:
      case Kind::token: return builder.add(n);
      case Kind::rule: return small[i] ? made[number(grammar_.rules_[n.first].body)] : builder.add(n);
      case Kind::repeat: return builder.repeat(made[n.first], n.min, n.max);
      case Kind::choice:
      case Kind::sequence: break;
    }
    members.clear();
    for (const Part child : grammar_.children(n)) members.push_back(made[number(child)]);
    if (n.kind == Kind::choice) return builder.choice(members);
    if (!small[i]) return builder.sequence(members);
    Regular joined = Regular::empty;
    for (auto part = members.rbegin(); part != members.rend(); ++part) {
      joined = store.concatenate(*builder.as_regular(*part), joined);
    }
    return builder.regular(joined);
  };
  std::vector<bool> done(grammar_.size(), false);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t i = 0; i < grammar_.size(); ++i) {
    stack.push_back(i);
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      const std::size_t before = stack.size();
      if (!done[at] && (small[at] || grammar_.nodes_[at].kind != Kind::rule)) {
        for_each_child(grammar_, grammar_.nodes_[at], [&](Part child) {
          if (!done[number(child)]) stack.push_back(number(child));
        });
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      if (!done[at]) made[at] = make(at), done[at] = true;
    }
  }
  for (const Grammar::Rule& rule : grammar_.rules_) {
    builder.grammar_.rules_.push_back({rule.name, made[number(rule.body)], true});
  }
  builder.grammar_.root_ = made[number(grammar_.rules_[static_cast<std::uint32_t>(root)].body)];
  exhausted_ |= builder.exhausted_;
  return std::move(builder.grammar_);
}

Result<Grammar> GrammarBuilder::finish(RuleId root, const RulePlace& place) {
  const auto check_room = [this](const Grammar& grammar) -> Result<void> {
    if (grammar.regular().exhausted()) return tl::unexpected(grammar.regular().exhaustion());
    if (!exhausted_) return {};
    return fail(ErrorKind::no_room, "the grammar has more than {} parts; make it smaller",
                grammar.limits().grammar_nodes);
  };
  PLM_TRY(check_room(grammar_));
  PLM_TRY(grammar_.find_shortest());
  PLM_TRY(grammar_.check_rules(place));
  const auto start = grammar_.rules_[static_cast<std::uint32_t>(root)].body;
  if (grammar_.shortest(start) == kNoLength) {
    return fail(ErrorKind::unsatisfiable, "no text fits the constraint: rule '{}' can never be ended",
                printable(grammar_.rules_[static_cast<std::uint32_t>(root)].name));
  }
  Grammar finished = rebuilt(root);
  PLM_TRY(check_room(finished));
  PLM_TRY(finished.find_shortest());
  *this = GrammarBuilder(finished.limits());
  return finished;
}

}  // namespace plm
