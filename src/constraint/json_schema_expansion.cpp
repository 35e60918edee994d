#include "constraint/json_schema_expansion.h"

#include <algorithm>
#include <unordered_map>

namespace plm {

ValueRule SchemaExpansion::only_kinds(unsigned kinds) {
  ValueRule rule;
  rule.kinds = static_cast<std::uint8_t>(kinds);
  return rule;
}

Result<std::vector<ValueRule>> SchemaExpansion::run(const SchemaTerms& terms) {
  State start;
  // In the order in which the schemas are written; what is pushed last is read first.
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) push(start, *term);
  std::vector<State> work;
  work.push_back(std::move(start));
  std::vector<ValueRule> found;
  std::optional<ValueRule> before_choices;
  while (!work.empty()) {
    State state = std::move(work.back());
    work.pop_back();
    PLM_TRY_ASSIGN(const bool possible, propagate(state));
    if (!possible) continue;
    if (!before_choices.has_value()) before_choices = state.rule;
    const bool too_many = found.size() >= logic_.limits_.alternatives || steps_ >= logic_.limits_.steps;
    if (state.next_choice < state.choices.size() && too_many) {
      const Choice& choice = *state.choices[state.next_choice];
      PLM_TRY(logic_.refusals_.refuse(
          choice.origin, choice.keyword,
          fmt::format("with what stands beside it, makes more than {} alternatives", logic_.limits_.alternatives),
          ErrorKind::no_room));
      return std::vector<ValueRule>{std::move(*before_choices)};  // covers all that the choices allow
    }
    if (state.next_choice == state.choices.size()) {
      found.push_back(std::move(state.rule));
      continue;
    }
    PLM_TRY(branch(std::move(state), work));
  }
  return found;
}

// Takes in every pending schema; false if the state cannot hold.
Result<bool> SchemaExpansion::propagate(State& state) {
  while (!state.pending.empty()) {
    const Pending next = state.pending.back();
    state.pending.pop_back();
    ++steps_;
    if (++logic_.steps_ > logic_.limits_.all_steps) {
      return fail(ErrorKind::no_room, "{}",
                  document_.complaint(
                      next.term.id, "anyOf, oneOf or not",
                      fmt::format("the combinations of schemas take more than {} steps", logic_.limits_.all_steps)));
    }
    if (next.term == logic_.always()) continue;
    if (next.term == logic_.never()) return false;
    PLM_TRY_ASSIGN(const Schema* read, document_.schema(next.term.id));
    const Schema& schema = *read;
    if (!next.joined) {
      if (std::binary_search(state.seen.begin(), state.seen.end(), next.term)) continue;
      if (std::binary_search(state.seen.begin(), state.seen.end(), next.term.negated())) return false;
      add_term(state.seen, next.term);
      PLM_TRY(check_ends(next.term.id));
    }
    if (schema.truth.has_value()) {
      if (*schema.truth != next.term.holds) return false;
    } else if (!next.term.holds) {
      PLM_TRY(deny(state, next.term.id, schema));
    } else if (schema.late_properties && !next.joined) {
      state.pending.push_back({next.term, true});
      PLM_TRY(hold_joined(state, next.term.id, schema));
    } else {
      PLM_TRY(hold(state, next.term.id, schema));
      if (!next.joined) PLM_TRY(hold_joined(state, next.term.id, schema));
    }
    state.rule.settle(logic_.never());
    if (state.rule.kinds == 0) return false;
  }
  return true;
}

// Puts one state a possible option on the pile, the first option on top.
Result<void> SchemaExpansion::branch(State state, std::vector<State>& work) {
  const std::shared_ptr<const Choice> choice = state.choices[state.next_choice++];
  const auto settled = [&](const Option& option) {
    return std::all_of(option.terms.begin(), option.terms.end(), [&](const SchemaTerm& term) {
      return term == logic_.always() || std::binary_search(state.seen.begin(), state.seen.end(), term);
    });
  };
  const bool satisfied = std::any_of(choice->options.begin(), choice->options.end(), [&](const Option& option) {
    return !option.terms.empty() && option.rule.kinds == kAnyKind && option.rule.object.members.empty() &&
           option.rule.object.required.empty() && settled(option);
  });
  if (satisfied) {
    work.push_back(std::move(state));
    return {};
  }
  for (auto option = choice->options.rbegin(); option != choice->options.rend(); ++option) {
    ++steps_;
    if ((state.rule.kinds & option->rule.kinds) == 0) continue;
    State next = state;
    next.rule.meet(option->rule);
    next.rule.settle(logic_.never());
    if (next.rule.kinds == 0) continue;
    for (auto term = option->terms.rbegin(); term != option->terms.rend(); ++term) push(next, *term);
    work.push_back(std::move(next));
  }
  return {};
}

// Refuses a schema that leads back to itself without passing a property or an item: it says nothing.
Result<void> SchemaExpansion::check_ends(SchemaId id) {
  if (logic_.ends_.contains(id)) return {};
  struct Step {
    SchemaId id;
    std::vector<SchemaId> inner;
    std::size_t next = 0;
  };
  std::unordered_map<SchemaId, bool> open;  // false: done
  std::vector<Step> path;
  const auto enter = [&](SchemaId inner) -> Result<void> {
    PLM_TRY_ASSIGN(auto children, document_.in_place(inner));
    open[inner] = true;
    path.push_back({inner, std::move(children)});
    return {};
  };
  PLM_TRY(enter(id));
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next == step.inner.size()) {
      open[step.id] = false;
      logic_.ends_.insert(step.id);
      path.pop_back();
      continue;
    }
    const SchemaId inner = step.inner[step.next++];
    if (logic_.ends_.contains(inner)) continue;
    if (const auto known = open.find(inner); known != open.end() && known->second) {
      return fail(ErrorKind::bad_input, "{}",
                  document_.complaint(step.id, "$ref", "leads back to itself without an element in between"));
    }
    PLM_TRY(enter(inner));
  }
  return {};
}

}  // namespace plm
