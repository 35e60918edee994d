// Schemas that do not hold: one keyword at least fails, so the denial is a choice among the denied keywords (see
// json_schema_expansion.h).
// Tested by tests/constraint/test_json_schema_logic.cpp.
#include <algorithm>

#include "constraint/json_schema_expansion.h"
#include "constraint/json_schema_format.h"

namespace plm {
namespace {

// The schema that messages about the parts of a rule name.
void set_origin(ValueRule& rule, SchemaId id) {
  for (NumberRule::Multiple& multiple : rule.number.multiples) multiple.origin = id;
  for (auto* matches : {&rule.string.patterns, &rule.string.formats}) {
    for (StringRule::Match& match : *matches) match.origin = id;
  }
  for (ArrayRule::Contains& contains : rule.array.contains) contains.origin = id;
  for (ObjectRule::Some& some : rule.object.some) some.origin = id;
}

}  // namespace

Result<void> SchemaExpansion::deny(State& state, SchemaId id, const Schema& schema) {
  Choice choice{.origin = id, .keyword = "not"};
  if (schema.kinds.has_value()) choice.options.push_back({.rule = only_kinds(kAnyKind & ~*schema.kinds)});
  if (schema.constant != nullptr) deny_values(choice, id, {schema.constant});
  if (schema.values.has_value()) deny_values(choice, id, *schema.values);
  deny_numbers(choice, schema);
  deny_strings(choice, schema);
  deny_arrays(choice, schema);
  deny_objects(choice, schema);
  for (Option& option : choice.options) set_origin(option.rule, id);
  PLM_TRY(deny_logic(choice, id, schema));
  PLM_TRY(deny_unsupported(choice, id, schema));
  if (choice.options.size() == 1) {
    state.rule.meet(choice.options.front().rule);
    for (const SchemaTerm& term : choice.options.front().terms) push(state, term);
    return {};
  }
  state.choices.push_back(std::make_shared<Choice>(std::move(choice)));
  return {};
}

void SchemaExpansion::deny_values(Choice& choice, SchemaId id, const std::vector<const SchemaValue*>& values) {
  std::vector<const SchemaValue*> others;
  const ValueRule listed = scalars(values, others).rule;
  const unsigned atoms = kNull | kFalse | kTrue;
  Option option{.rule = only_kinds(kAnyKind & ~(listed.kinds & atoms))};
  if (listed.number.only.has_value()) option.rule.number.excluded = *listed.number.only;
  if (listed.string.only.has_value()) option.rule.string.excluded = *listed.string.only;
  for (const SchemaValue* value : others) option.terms.push_back({constant(*value, id), false});
  choice.options.push_back(std::move(option));
}

void SchemaExpansion::deny_numbers(Choice& choice, const Schema& schema) {
  const auto add = [&](NumberRule number) {
    Option option{.rule = only_kinds(kNumber)};
    option.rule.number = std::move(number);
    choice.options.push_back(std::move(option));
  };
  using Bound = NumberRule::Bound;
  if (schema.minimum.has_value()) add({.upper = Bound{*schema.minimum, true}});
  if (schema.exclusive_minimum.has_value()) add({.upper = Bound{*schema.exclusive_minimum, false}});
  if (schema.maximum.has_value()) add({.lower = Bound{*schema.maximum, true}});
  if (schema.exclusive_maximum.has_value()) add({.lower = Bound{*schema.exclusive_maximum, false}});
  if (schema.multiple_of.has_value()) add({.multiples = {{*schema.multiple_of, false}}});
  if (const auto range = schema.format.has_value() ? integer_format(*schema.format) : std::nullopt) {
    add({.upper = Bound{range->lowest, true}});
    add({.lower = Bound{range->highest, true}});
  }
}

void SchemaExpansion::deny_strings(Choice& choice, const Schema& schema) {
  const auto add = [&](StringRule string) {
    Option option{.rule = only_kinds(kString)};
    option.rule.string = std::move(string);
    choice.options.push_back(std::move(option));
  };
  if (schema.min_length.value_or(0) > 0) add({.max_length = *schema.min_length - 1});
  if (schema.max_length.has_value()) add({.min_length = *schema.max_length + 1});
  if (schema.pattern.has_value()) add({.patterns = {{*schema.pattern, false}}});
  if (!schema.format.has_value() || is_storage_format(*schema.format)) return;
  if (!integer_format(*schema.format).has_value()) add({.formats = {{*schema.format, false}}});
}

void SchemaExpansion::deny_arrays(Choice& choice, const Schema& schema) {
  const auto add = [&](ArrayRule array) {
    Option option{.rule = only_kinds(kArray)};
    option.rule.array = std::move(array);
    choice.options.push_back(std::move(option));
  };
  const auto prefix = static_cast<std::uint32_t>(schema.prefix_items.size());
  if (schema.min_items.value_or(0) > 0) add({.max_items = *schema.min_items - 1});
  if (schema.max_items.has_value()) add({.min_items = *schema.max_items + 1});
  for (std::uint32_t i = 0; i < prefix; ++i) {
    add({.items = {{i, i + 1, {schema.prefix_items[i], false}}}, .min_items = i + 1});
  }
  if (schema.items.has_value()) add({.contains = {{.must = {*schema.items, false}, .from = prefix}}});
  if (schema.contains.has_value()) {
    const SchemaTerm inner{*schema.contains, true};
    const std::uint32_t least = schema.min_contains.value_or(1);
    if (least == 1) add({.items = {{0, kUnbounded, inner.negated()}}});
    if (least > 1) add({.contains = {{.must = inner, .min = 0, .max = least - 1}}});
    if (schema.max_contains.has_value()) add({.contains = {{.must = inner, .min = *schema.max_contains + 1}}});
  }
}

void SchemaExpansion::deny_objects(Choice& choice, const Schema& schema) {
  const auto add = [&](ObjectRule object) {
    Option option{.rule = only_kinds(kObject)};
    option.rule.object = std::move(object);
    choice.options.push_back(std::move(option));
  };
  for (const auto& [name, property] : schema.properties) {
    add({.members = {{key(name), {property, false}}}, .required = {name}});
  }
  for (const auto& [pattern, property] : schema.pattern_properties) {
    add({.some = {{.keys = matching(pattern, 0), .must = {property, false}}}});
  }
  if (schema.additional_properties.has_value()) {
    add({.some = {{.keys = additional(schema, 0), .must = {*schema.additional_properties, false}}}});
  }
  if (schema.property_names.has_value()) {
    const auto any = std::make_shared<KeySet>(KeySet{.complement = true});
    add({.some = {{.keys = any, .must = logic_.always(), .name = SchemaTerm{*schema.property_names, false}}}});
  }
  for (const std::string& name : schema.required) add({.members = {{key(name), logic_.never()}}});
  for (const auto& [name, needed] : schema.dependent_required) {
    for (const std::string& other : needed) {
      if (other != name) add({.members = {{key(other), logic_.never()}}, .required = {name}});
    }
  }
  if (schema.min_properties.value_or(0) > 0) add({.max_properties = *schema.min_properties - 1});
  if (schema.max_properties.has_value()) add({.min_properties = *schema.max_properties + 1});
}

Result<void> SchemaExpansion::deny_logic(Choice& choice, SchemaId id, const Schema& schema) {
  for (const SchemaId branch : schema.all_of) choice.options.push_back({.terms = {{branch, false}}});
  if (!schema.any_of.empty()) {
    Option none;
    for (const SchemaId branch : schema.any_of) none.terms.push_back({branch, false});
    choice.options.push_back(std::move(none));
  }
  if (!schema.one_of.empty()) {  // none of them, or two
    Option none;
    for (const SchemaId branch : schema.one_of) none.terms.push_back({branch, false});
    choice.options.push_back(std::move(none));
    if (schema.one_of.size() > logic_.limits_.negated_branches) {
      PLM_TRY(logic_.refusals_.refuse(id, "oneOf", "too many branches under not", ErrorKind::no_room));
      choice.options.push_back({});
    }
    for (std::size_t i = 0; i < schema.one_of.size() && i < logic_.limits_.negated_branches; ++i) {
      for (std::size_t k = i + 1; k < schema.one_of.size(); ++k) {
        choice.options.push_back({.terms = {{schema.one_of[i], true}, {schema.one_of[k], true}}});
      }
    }
  }
  if (schema.negation.has_value()) choice.options.push_back({.terms = {{*schema.negation, true}}});
  if (schema.condition.has_value()) {
    const SchemaTerm condition{*schema.condition, true};
    if (schema.consequence.has_value()) choice.options.push_back({.terms = {condition, {*schema.consequence, false}}});
    if (schema.alternative.has_value()) {
      choice.options.push_back({.terms = {condition.negated(), {*schema.alternative, false}}});
    }
  }
  for (const auto& [name, dependent] : schema.dependent_schemas) {
    Option option{.terms = {{dependent, false}}, .rule = only_kinds(kObject)};
    option.rule.object.required = {name};
    choice.options.push_back(std::move(option));
  }
  for (const auto& [reference, dynamic] : {std::pair{schema.reference, false}, {schema.dynamic_reference, true}}) {
    if (reference == nullptr) continue;
    PLM_TRY_ASSIGN(const SchemaId to, document_.target(id, *reference, dynamic));
    choice.options.push_back({.terms = {{to, false}}});
  }
  return {};
}

// What has no denial: leniently the whole denial is dropped, as an option that asks nothing.
Result<void> SchemaExpansion::deny_unsupported(Choice& choice, SchemaId id, const Schema& schema) {
  const auto refuse = [&](const char* keyword) -> Result<void> {
    PLM_TRY(logic_.refusals_.refuse(id, keyword,
                                    "not supported where the schema must not hold (under not, in an if, "
                                    "or in a oneOf whose branches overlap)",
                                    ErrorKind::bad_input));
    choice.options = {{}};
    return {};
  };
  if (schema.unique_items) PLM_TRY(refuse("uniqueItems"));
  if (schema.unevaluated_items.has_value()) PLM_TRY(refuse("unevaluatedItems"));
  if (schema.unevaluated_properties.has_value()) PLM_TRY(refuse("unevaluatedProperties"));
  return {};
}

}  // namespace plm
