// unevaluatedProperties and unevaluatedItems: the schemas in place are brought into all the ways in which they may hold
// or not, and in each way the properties and items that nothing looked at are known (see json_schema_expansion.h).
// Tested by tests/constraint/test_json_schema_logic.cpp.
#include <algorithm>

#include "constraint/json_schema_expansion.h"

namespace plm {
namespace {

constexpr int kDeepest = 32;

void unite(KeySet& keys, const KeySet& more) {
  keys.keys.insert(keys.keys.end(), more.keys.begin(), more.keys.end());
  keys.patterns.insert(keys.patterns.end(), more.patterns.begin(), more.patterns.end());
}

}  // namespace

Result<void> SchemaExpansion::hold_unevaluated(State& state, SchemaId id, const Schema& schema) {
  PLM_TRY_ASSIGN(auto ways, evaluate(id, 0));
  Choice choice{.origin = id,
                .keyword = schema.unevaluated_properties.has_value() ? "unevaluatedProperties" : "unevaluatedItems"};
  for (Evaluated& way : ways) {
    if (schema.unevaluated_properties.has_value() && !way.all_keys) {
      way.keys.complement = true;
      way.keys.origin = id;
      way.option.rule.object.members.push_back(
          {std::make_shared<KeySet>(way.keys), {*schema.unevaluated_properties, true}});
    }
    if (schema.unevaluated_items.has_value() && way.items != kUnbounded) {
      SchemaTerm rest{*schema.unevaluated_items, true};
      if (!way.contains.empty()) {  // what `contains` matched is looked at
        Schema either;
        either.any_of.push_back(rest.id);
        for (const SchemaTerm& term : way.contains) either.any_of.push_back(term.id);
        rest = {document_.add(std::move(either), id), true};
      }
      way.option.rule.array.items.push_back({way.items, kUnbounded, rest});
    }
    choice.options.push_back(std::move(way.option));
  }
  state.choices.push_back(std::make_shared<Choice>(std::move(choice)));
  return {};
}

std::vector<SchemaExpansion::Evaluated> SchemaExpansion::product(const std::vector<Evaluated>& a,
                                                                 const std::vector<Evaluated>& b) {
  std::vector<Evaluated> both;
  for (const Evaluated& x : a) {
    for (const Evaluated& y : b) {
      Evaluated joined = x;
      for (const SchemaTerm& term : y.option.terms) joined.option.terms.push_back(term);
      joined.option.rule.meet(y.option.rule);
      unite(joined.keys, y.keys);
      joined.all_keys |= y.all_keys;
      joined.items = std::max(joined.items, y.items);
      joined.contains.insert(joined.contains.end(), y.contains.begin(), y.contains.end());
      both.push_back(std::move(joined));
    }
  }
  return both;
}

// The keywords of a schema that look at the value themselves.
SchemaExpansion::Evaluated SchemaExpansion::own_part(SchemaId id, const Schema& schema) {
  Schema own = schema;
  own.all_of.clear();
  own.any_of.clear();
  own.one_of.clear();
  own.negation = own.condition = own.consequence = own.alternative = std::nullopt;
  own.reference = own.dynamic_reference = nullptr;
  own.unevaluated_items = own.unevaluated_properties = std::nullopt;
  own.dependent_schemas.clear();
  Evaluated part;
  part.option.terms.push_back({document_.add(std::move(own), id), true});
  for (const auto& [name, property] : schema.properties) part.keys.keys.push_back(name);
  for (const auto& [pattern, property] : schema.pattern_properties) part.keys.patterns.push_back(pattern);
  part.all_keys = schema.additional_properties.has_value();
  part.items = schema.items.has_value() ? kUnbounded : static_cast<std::uint32_t>(schema.prefix_items.size());
  if (schema.contains.has_value() && document_.dialect() == SchemaDialect::draft_2020_12) {
    part.contains.push_back({*schema.contains, true});
  }
  return part;
}

Result<std::vector<SchemaExpansion::Evaluated>> SchemaExpansion::evaluate(SchemaId id, int depth) {
  PLM_TRY_ASSIGN(const Schema* read, document_.schema(id));
  const Schema& schema = *read;
  if (depth > kDeepest) {
    return fail(ErrorKind::no_room, "{}",
                document_.complaint(id, "allOf",
                                    fmt::format("more than {} schemas inside one another beside "
                                                "unevaluatedProperties or unevaluatedItems",
                                                kDeepest)));
  }
  if (schema.truth.has_value()) return std::vector<Evaluated>{{.option = {.terms = {{id, true}}}}};
  std::vector<Evaluated> ways(1);
  const std::vector<Evaluated> own = {own_part(id, schema)};
  if (!schema.late_properties) ways = own;
  std::vector<SchemaId> joined = schema.all_of;
  for (const auto& [reference, dynamic] : {std::pair{schema.reference, false}, {schema.dynamic_reference, true}}) {
    if (reference == nullptr) continue;
    PLM_TRY_ASSIGN(const SchemaId to, document_.target(id, *reference, dynamic));
    joined.push_back(to);
  }
  for (const SchemaId inner : joined) {
    PLM_TRY_ASSIGN(const auto more, evaluate(inner, depth + 1));
    ways = product(ways, more);
  }
  if (schema.late_properties) ways = product(ways, own);
  if (schema.negation.has_value()) ways = product(ways, {{.option = {.terms = {{*schema.negation, false}}}}});
  PLM_TRY(evaluate_choices(ways, schema, id, depth));
  const bool inner = depth > 0 && (schema.unevaluated_items.has_value() || schema.unevaluated_properties.has_value());
  for (Evaluated& way : ways) {
    if (!inner) break;
    way.option.terms.push_back({id, true});  // what it leaves unevaluated it looks at itself
    way.all_keys |= schema.unevaluated_properties.has_value();
    if (schema.unevaluated_items.has_value()) way.items = kUnbounded;
  }
  if (ways.size() > logic_.limits_.alternatives) {
    return fail(ErrorKind::no_room, "{}",
                document_.complaint(id, "anyOf",
                                    "too many ways to hold beside unevaluated"
                                    "Properties or unevaluatedItems"));
  }
  return ways;
}

Result<void> SchemaExpansion::evaluate_choices(std::vector<Evaluated>& ways, const Schema& schema, SchemaId id,
                                               int depth) {
  for (const auto* branches : {&schema.any_of, &schema.one_of}) {
    if (branches->empty()) continue;
    PLM_TRY_ASSIGN(const auto more, held_or_not(id, *branches, branches == &schema.one_of, depth));
    ways = product(ways, more);
  }
  if (schema.condition.has_value()) {
    PLM_TRY_ASSIGN(auto held, evaluate(*schema.condition, depth + 1));
    if (schema.consequence.has_value()) {
      PLM_TRY_ASSIGN(const auto then, evaluate(*schema.consequence, depth + 1));
      held = product(held, then);
    }
    std::vector<Evaluated> failed = {{.option = {.terms = {{*schema.condition, false}}}}};
    if (schema.alternative.has_value()) {
      PLM_TRY_ASSIGN(const auto otherwise, evaluate(*schema.alternative, depth + 1));
      failed = product(failed, otherwise);
    }
    held.insert(held.end(), failed.begin(), failed.end());
    ways = product(ways, held);
  }
  for (const auto& [name, dependent] : schema.dependent_schemas) {
    PLM_TRY_ASSIGN(auto present, evaluate(dependent, depth + 1));
    for (Evaluated& way : present) {
      way.option.rule.kinds &= kObject;
      way.option.rule.object.required.push_back(name);
    }
    Evaluated absent;
    absent.option.rule.object.members.push_back({key(name), logic_.never()});
    present.push_back(std::move(absent));
    ways = product(ways, present);
  }
  return {};
}

// Every combination of branches that hold (one at least, or exactly one), the others denied.
Result<std::vector<SchemaExpansion::Evaluated>> SchemaExpansion::held_or_not(SchemaId id,
                                                                             const std::vector<SchemaId>& branches,
                                                                             bool exactly_one, int depth) {
  std::vector<Evaluated> ways;
  const std::size_t count = branches.size();
  const std::size_t most = exactly_one ? logic_.limits_.negated_branches : logic_.limits_.evaluated_branches;
  if (count > most) {
    return fail(ErrorKind::no_room, "{}",
                document_.complaint(id, exactly_one ? "oneOf" : "anyOf",
                                    fmt::format("{} branches beside unevaluatedProperties or unevaluatedItems, at most "
                                                "{} are supported",
                                                count, most)));
  }
  std::vector<std::vector<Evaluated>> held;
  for (const SchemaId branch : branches) {
    PLM_TRY_ASSIGN(auto inner, evaluate(branch, depth + 1));
    held.push_back(std::move(inner));
  }
  const std::size_t last = exactly_one ? count : (std::size_t{1} << count) - 1;
  for (std::size_t chosen = 1; chosen <= last; ++chosen) {
    std::vector<Evaluated> way = {Evaluated{}};
    for (std::size_t i = 0; i < count; ++i) {
      const bool holds = exactly_one ? chosen == i + 1 : ((chosen >> i) & 1U) != 0;
      way = product(way, holds ? held[i] : std::vector<Evaluated>{{.option = {.terms = {{branches[i], false}}}}});
    }
    ways.insert(ways.end(), way.begin(), way.end());
    if (ways.size() > logic_.limits_.alternatives) break;  // refused by evaluate
  }
  return ways;
}

}  // namespace plm
