// The texts of arrays: a plain sequence of elements where only their schemas and their number matter, otherwise an
// automaton that counts what `contains` asks for and remembers which of finitely many values were used (uniqueItems).
// Tested by tests/constraint/test_json_schema_object.cpp.
#include <algorithm>
#include <deque>
#include <map>

#include "constraint/json_schema_writer.h"

namespace plm {
namespace {

constexpr std::size_t kMostStates = 5'000;  // of the automaton of one array
constexpr std::size_t kMostValues = 64;     // that uniqueItems tells apart
constexpr std::size_t kMostContains = 4;    // at the same time

// The schemas of the element at each index.
class ElementTerms {
 public:
  explicit ElementTerms(const ArrayRule& rule) {
    for (const ArrayRule::Items& items : rule.items) {
      (items.to == items.from + 1 ? single_[items.from] : ranges_).push_back(items);
    }
  }

  [[nodiscard]] SchemaTerms at(std::uint32_t index) const {
    SchemaTerms terms;
    for (const ArrayRule::Items& items : ranges_) {
      if (items.from <= index && index < items.to) add_term(terms, items.must);
    }
    const auto single = single_.find(index);
    if (single == single_.end()) return terms;
    for (const ArrayRule::Items& items : single->second) add_term(terms, items.must);
    return terms;
  }

 private:
  std::map<std::uint32_t, std::vector<ArrayRule::Items>> single_;
  std::vector<ArrayRule::Items> ranges_;
};

// From this index on all elements have the same schemas.
std::uint32_t steady_index(const ArrayRule& rule) {
  std::uint32_t steady = 0;
  for (const ArrayRule::Items& items : rule.items) {
    steady = std::max({steady, items.from, items.to == kUnbounded ? 0 : items.to});
  }
  for (const ArrayRule::Contains& contains : rule.contains) steady = std::max(steady, contains.from);
  return steady;
}

std::uint32_t less(std::uint32_t count, std::uint32_t taken) {
  if (count == kUnbounded) return kUnbounded;
  return count > taken ? count - taken : 0;
}

Result<Part> plain_array(SchemaWriter& writer, const ArrayRule& rule) {
  GrammarBuilder& builder = writer.builder();
  JsonText& text = writer.text();
  const ElementTerms elements(rule);
  std::vector<Part> ways;
  if (rule.min_items == 0) ways.push_back(builder.regular(text.hollow("[]")));
  if (rule.max_items > 0) {
    const Part comma = builder.regular(text.comma());
    // The elements that differ by their place are written one by one, from the last of them on.
    const std::uint32_t single = std::min(std::max(steady_index(rule), 1U), rule.max_items);
    PLM_TRY_ASSIGN(const Part rest, writer.value(elements.at(single)));
    Part tail =
        builder.repeat(builder.sequence({comma, rest}), less(rule.min_items, single), less(rule.max_items, single));
    for (std::uint32_t i = single; i-- > 0;) {
      PLM_TRY_ASSIGN(const Part element, writer.value(elements.at(i)));
      if (i == 0) {
        tail = builder.sequence({element, tail});
      } else {
        tail = builder.sequence({comma, element, tail});
        if (i >= rule.min_items) tail = builder.optional(tail);
      }
    }
    ways.push_back(builder.sequence({builder.regular(text.open('[')), tail, builder.regular(text.close(']'))}));
  }
  return builder.choice(ways);
}

// One array with `contains` or `uniqueItems`, as states of (elements so far, matches of each contains, values used).
class ArrayAutomaton {
 public:
  ArrayAutomaton(SchemaWriter& writer, const ArrayRule& rule, SchemaId origin)
      : writer_(writer),
        builder_(writer.builder()),
        rule_(rule),
        origin_(origin),
        elements_(rule),
        steady_(steady_index(rule)) {
    most_ = std::max({steady_, rule.min_items, rule.max_items == kUnbounded ? 0 : rule.max_items, 1U});
  }

  // nullopt where it would have too many states.
  Result<std::optional<Part>> write() {
    PLM_TRY_ASSIGN(const RuleId first, rule_of({0, std::vector<std::uint32_t>(rule_.contains.size(), 0), 0}));
    while (!waiting_.empty()) {
      const State state = waiting_.front();
      waiting_.pop_front();
      if (rules_.size() > kMostStates) return std::optional<Part>();
      PLM_TRY(define(state));
    }
    return std::optional(builder_.sequence({builder_.regular(writer_.text().open('[')), builder_.rule(first)}));
  }

  // Values told apart by uniqueItems; false if there are too many.
  Result<bool> list_values() {
    for (std::uint32_t i = 0; i <= steady_; ++i) {
      PLM_TRY_ASSIGN(const auto texts, listed(elements_.at(i)));
      if (!texts.has_value()) return false;
      for (const std::string& text : *texts) values_.emplace(text, values_.size());
    }
    return values_.size() <= kMostValues;
  }

 private:
  struct State {
    std::uint32_t elements = 0;
    std::vector<std::uint32_t> matches;
    std::uint64_t used = 0;
    friend auto operator<=>(const State&, const State&) = default;
  };

  Result<std::optional<std::vector<std::string>>> listed(const SchemaTerms& terms) {
    if (const auto known = listed_.find(terms); known != listed_.end()) return known->second;
    PLM_TRY_ASSIGN(auto texts, writer_.listed(terms, kMostValues));
    listed_.emplace(terms, texts);
    return texts;
  }

  Result<RuleId> rule_of(const State& state) {
    if (const auto known = rules_.find(state); known != rules_.end()) return known->second;
    PLM_TRY_ASSIGN(const RuleId rule, writer_.declare(origin_, "contains or uniqueItems"));
    rules_.emplace(state, rule);
    waiting_.push_back(state);
    return rule;
  }

  Result<void> define(const State& state) {
    std::vector<Part> ways;
    bool may_end = state.elements >= rule_.min_items;
    for (std::size_t i = 0; i < rule_.contains.size(); ++i) may_end &= state.matches[i] >= rule_.contains[i].min;
    if (may_end) {
      ways.push_back(state.elements == 0 ? builder_.literal("]") : builder_.regular(writer_.text().close(']')));
    }
    if (state.elements < rule_.max_items) PLM_TRY(add_elements(state, ways));
    builder_.define(rules_.at(state), builder_.choice(ways));
    return {};
  }

  // An element for every combination of the `contains` that it is counted for.
  Result<void> add_elements(const State& state, std::vector<Part>& ways) {
    const std::size_t count = rule_.contains.size();
    for (std::size_t chosen = 0; chosen < (std::size_t{1} << count); ++chosen) {
      State next = state;
      next.elements = std::min(state.elements + 1, most_);
      SchemaTerms terms = elements_.at(state.elements);
      bool possible = true;
      for (std::size_t i = 0; i < count && possible; ++i) {
        possible = count_match(rule_.contains[i], ((chosen >> i) & 1U) != 0, state, next.matches[i], terms);
      }
      if (possible) PLM_TRY(add_element(state, std::move(next), terms, ways));
    }
    return {};
  }

  // Whether an element may be counted (or not) for `contains`; then with the schemas that this takes.
  static bool count_match(const ArrayRule::Contains& contains, bool counted, const State& state, std::uint32_t& matches,
                          SchemaTerms& terms) {
    if (state.elements < contains.from) return !counted;
    if (contains.max == kUnbounded) {  // more matches than counted do no harm
      if (!counted) return true;
      if (matches >= contains.min) return false;
      ++matches;
      add_term(terms, contains.must);
      return true;
    }
    if (counted && matches >= contains.max) return false;
    add_term(terms, counted ? contains.must : contains.must.negated());
    if (counted) ++matches;
    return true;
  }

  Result<void> add_element(const State& state, State next, const SchemaTerms& terms, std::vector<Part>& ways) {
    const Part comma = state.elements == 0 ? Part::empty : builder_.regular(writer_.text().comma());
    if (values_.empty()) {
      PLM_TRY_ASSIGN(const Part element, writer_.value(terms));
      PLM_TRY_ASSIGN(const RuleId rest, rule_of(next));
      ways.push_back(builder_.sequence({comma, element, builder_.rule(rest)}));
      return {};
    }
    PLM_TRY_ASSIGN(const auto texts, listed(terms));
    for (const std::string& text : texts.value_or(std::vector<std::string>())) {
      const std::uint64_t bit = std::uint64_t{1} << values_.at(text);
      if ((state.used & bit) != 0) continue;
      next.used = state.used | bit;
      PLM_TRY_ASSIGN(const RuleId rest, rule_of(next));
      ways.push_back(builder_.sequence({comma, builder_.literal(text), builder_.rule(rest)}));
    }
    return {};
  }

  SchemaWriter& writer_;
  GrammarBuilder& builder_;
  const ArrayRule& rule_;
  SchemaId origin_;
  ElementTerms elements_;
  std::uint32_t steady_, most_;
  std::map<State, RuleId> rules_;
  std::deque<State> waiting_;
  std::map<std::string, std::size_t> values_;
  std::map<SchemaTerms, std::optional<std::vector<std::string>>> listed_;
};

// Takes out what no automaton can do, if that is lenient enough; false if nothing had to go.
Result<bool> drop_unsupported(SchemaWriter& writer, ArrayRule& rule) {
  SchemaRefusals& refusals = writer.logic().refusals();
  if (rule.contains.size() <= kMostContains) return false;
  PLM_TRY(refusals.refuse(
      rule.contains.back().origin, "contains",
      fmt::format("{} of them meet in one array, at most {} are supported", rule.contains.size(), kMostContains),
      ErrorKind::no_room));
  rule.contains.clear();
  return true;
}

Result<Part> counted_array(SchemaWriter& writer, ArrayRule rule, SchemaId origin) {
  SchemaRefusals& refusals = writer.logic().refusals();
  PLM_TRY(drop_unsupported(writer, rule));
  if (rule.unique.has_value()) {
    ArrayAutomaton automaton(writer, rule, origin);
    PLM_TRY_ASSIGN(const bool finite, automaton.list_values());
    if (finite) {
      PLM_TRY_ASSIGN(const auto part, automaton.write());
      if (part.has_value()) return *part;
    }
    const std::string why =
        finite ? fmt::format("more than {} combinations of values; give a smaller maxItems", kMostStates)
               : fmt::format("only over elements with at most {} values (enum, const, boolean)", kMostValues);
    PLM_TRY(refusals.refuse(*rule.unique, "uniqueItems", why, finite ? ErrorKind::no_room : ErrorKind::bad_input));
    rule.unique.reset();
  }
  if (!rule.contains.empty()) {
    ArrayAutomaton automaton(writer, rule, origin);
    PLM_TRY_ASSIGN(const auto part, automaton.write());
    if (part.has_value()) return *part;
    PLM_TRY(refusals.refuse(rule.contains.front().origin, "contains",
                            fmt::format("more than {} states; ask for fewer elements", kMostStates),
                            ErrorKind::no_room));
    rule.contains.clear();
  }
  return plain_array(writer, rule);
}

}  // namespace

Result<Part> write_array(SchemaWriter& writer, const ArrayRule& given, SchemaId origin) {
  ArrayRule rule = given;
  std::erase_if(rule.contains,
                [](const ArrayRule::Contains& contains) { return contains.min == 0 && contains.max == kUnbounded; });
  if (rule.max_items <= 1) rule.unique.reset();
  if (rule.contains.empty() && !rule.unique.has_value()) return plain_array(writer, rule);
  return counted_array(writer, std::move(rule), origin);
}

}  // namespace plm
