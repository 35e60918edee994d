#include "constraint/json_schema_members.h"

#include <algorithm>
#include <compare>
#include <deque>
#include <map>

namespace plm {
namespace {

constexpr std::size_t kMostStates = 20'000;  // of one object
constexpr std::size_t kMostSome = 4;         // members that must exist, at the same time
constexpr std::size_t kMostFree = 12;        // names in any order

class ObjectAutomaton {
 public:
  ObjectAutomaton(SchemaWriter& writer, const ObjectRule& rule, const ObjectMembers& members, SchemaId origin)
      : writer_(writer), builder_(writer.builder()), rule_(rule), others_(members.others), origin_(origin) {
    for (const auto& member : members.named) {
      const bool apart = member.required && member.undeclared && !writer.options().any_order;
      (apart ? placeless_ : named_).push_back(member);
    }
    counted_ = rule.max_properties == kUnbounded ? rule.min_properties : rule.max_properties;
    counted_ = std::max(counted_, 1U);  // whether a comma is needed
  }

  // nullopt where it would have too many states.
  Result<std::optional<Part>> write() {
    PLM_TRY_ASSIGN(const RuleId first, rule_of({}));
    while (!waiting_.empty()) {
      const State state = waiting_.front();
      waiting_.pop_front();
      if (rules_.size() > kMostStates) return std::optional<Part>();
      PLM_TRY(define(state));
    }
    return std::optional(builder_.sequence({builder_.regular(writer_.text().open('{')), builder_.rule(first)}));
  }

 private:
  using Member = ObjectMembers::Member;
  struct State {
    std::uint32_t next = 0;       // of named_; in any order: a bit for each that is there
    std::uint32_t placeless = 0;  // of placeless_
    std::uint32_t members = 0;    // up to counted_
    std::uint32_t some = 0;       // a bit for each that is fulfilled
    bool skipping = false;        // a name was left out just now: only names after it may come
    friend auto operator<=>(const State&, const State&) = default;
  };

  Result<RuleId> rule_of(const State& state) {
    if (const auto known = rules_.find(state); known != rules_.end()) return known->second;
    PLM_TRY_ASSIGN(const RuleId rule, writer_.declare(origin_, "properties"));
    rules_.emplace(state, rule);
    waiting_.push_back(state);
    return rule;
  }

  [[nodiscard]] bool may_end(const State& state) const {
    const bool all_some = state.some == (1U << rule_.some.size()) - 1;
    if (!all_some || state.placeless < placeless_.size() || state.members < rule_.min_properties) return false;
    if (!writer_.options().any_order) return state.next == named_.size();
    for (std::size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].required && ((state.next >> i) & 1U) == 0) return false;
    }
    return true;
  }

  Result<void> define(const State& state) {
    std::vector<Part> ways;
    if (may_end(state)) {
      ways.push_back(state.members == 0 ? builder_.literal("}") : builder_.regular(writer_.text().close('}')));
    }
    const bool full = rule_.max_properties != kUnbounded && state.members >= rule_.max_properties;
    if (!full) PLM_TRY(add_members(state, ways));
    if (!writer_.options().any_order && state.next < named_.size() && !named_[state.next].required) {
      State skipped = state;
      ++skipped.next;
      skipped.skipping = true;
      PLM_TRY_ASSIGN(const RuleId rest, rule_of(skipped));
      ways.push_back(builder_.rule(rest));
    }
    builder_.define(rules_.at(state), builder_.choice(ways));
    return {};
  }

  Result<void> add_members(const State& state, std::vector<Part>& ways) {
    State next = state;
    next.skipping = false;
    next.members = std::min(state.members + 1, counted_);
    if (writer_.options().any_order) {
      for (std::size_t i = 0; i < named_.size(); ++i) {
        if (((state.next >> i) & 1U) != 0) continue;
        State taken = next;
        taken.next |= 1U << i;
        PLM_TRY(add_member(state, named_[i], taken, ways));
      }
    } else if (state.next < named_.size()) {
      State taken = next;
      ++taken.next;
      PLM_TRY(add_member(state, named_[state.next], taken, ways));
    }
    if (state.skipping) return {};
    if (state.placeless < placeless_.size()) {
      State taken = next;
      ++taken.placeless;
      PLM_TRY(add_member(state, placeless_[state.placeless], taken, ways));
    }
    for (const Member& other : others_) PLM_TRY(add_member(state, other, next, ways));
    return {};
  }

  // The member, for every choice of the demands that it is to fulfil.
  Result<void> add_member(const State& state, const Member& member, const State& after, std::vector<Part>& ways) {
    std::vector<std::size_t> open;
    for (const std::size_t some : member.some) {
      if (((state.some >> some) & 1U) == 0) open.push_back(some);
    }
    for (std::size_t chosen = 0; chosen < (std::size_t{1} << open.size()); ++chosen) {
      SchemaTerms terms = member.terms;
      State next = after;
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (((chosen >> i) & 1U) == 0) continue;
        if (rule_.some[open[i]].must != writer_.logic().always()) add_term(terms, rule_.some[open[i]].must);
        next.some |= 1U << open[i];
      }
      PLM_TRY_ASSIGN(const Part part, write_member(writer_, member, terms));
      PLM_TRY_ASSIGN(const RuleId rest, rule_of(next));
      const Part comma = state.members == 0 ? Part::empty : builder_.regular(writer_.text().comma());
      ways.push_back(builder_.sequence({comma, part, builder_.rule(rest)}));
    }
    return {};
  }

  SchemaWriter& writer_;
  GrammarBuilder& builder_;
  const ObjectRule& rule_;
  const std::vector<Member>& others_;
  SchemaId origin_;
  std::vector<Member> named_, placeless_;
  std::uint32_t counted_ = 0;
  std::map<State, RuleId> rules_;
  std::deque<State> waiting_;
};

}  // namespace

Result<Part> write_counted_object(SchemaWriter& writer, const ObjectRule& given, const ObjectMembers& members,
                                  SchemaId origin) {
  ObjectRule rule = given;
  ObjectMembers kept = members;
  SchemaRefusals& refusals = writer.logic().refusals();
  if (rule.some.size() > kMostSome) {
    PLM_TRY(refusals.refuse(
        rule.some.back().origin, "additionalProperties, patternProperties or propertyNames",
        fmt::format("denied {} times in one object, at most {} are supported", rule.some.size(), kMostSome),
        ErrorKind::no_room));
    rule.some.clear();
    for (auto* list : {&kept.named, &kept.others}) {
      for (auto& member : *list) member.some.clear();
    }
  }
  if (writer.options().any_order && kept.named.size() > kMostFree) {
    return fail(ErrorKind::no_room, "{}",
                writer.logic().document().complaint(
                    origin, "properties",
                    fmt::format("{} names in any order, at most {} are supported; keep the order "
                                "of the schema",
                                kept.named.size(), kMostFree)));
  }
  PLM_TRY_ASSIGN(const auto part, ObjectAutomaton(writer, rule, kept, origin).write());
  if (part.has_value()) return *part;
  PLM_TRY(refusals.refuse(origin, "minProperties, maxProperties or properties",
                          fmt::format("the object has more than {} states", kMostStates), ErrorKind::no_room));
  rule.min_properties = 0;
  rule.max_properties = kUnbounded;
  PLM_TRY_ASSIGN(const auto uncounted, ObjectAutomaton(writer, rule, kept, origin).write());
  if (uncounted.has_value()) return *uncounted;
  return fail(ErrorKind::no_room, "{}",
              writer.logic().document().complaint(origin, "properties", "the object has too many states"));
}

}  // namespace plm
