// Schemas that hold: their keywords as rules and choices (see json_schema_expansion.h).
// Tested by tests/constraint/test_json_schema_logic.cpp.
#include <algorithm>
#include <map>
#include <set>

#include "constraint/json_schema_expansion.h"
#include "constraint/json_schema_format.h"

namespace plm {

std::shared_ptr<const KeySet> SchemaExpansion::key(const std::string& name) {
  return std::make_shared<KeySet>(KeySet{.keys = {name}});
}

std::shared_ptr<const KeySet> SchemaExpansion::matching(const std::string& pattern, SchemaId origin) {
  return std::make_shared<KeySet>(KeySet{.patterns = {pattern}, .origin = origin});
}

std::shared_ptr<const KeySet> SchemaExpansion::additional(const Schema& schema, SchemaId origin) {
  KeySet rest{.complement = true, .origin = origin};
  for (const auto& [name, id] : schema.properties) rest.keys.push_back(name);
  for (const auto& [pattern, id] : schema.pattern_properties) rest.patterns.push_back(pattern);
  return std::make_shared<KeySet>(std::move(rest));
}

Result<void> SchemaExpansion::hold(State& state, SchemaId id, const Schema& schema) {
  if (schema.unevaluated_items.has_value() || schema.unevaluated_properties.has_value()) {
    return hold_unevaluated(state, id, schema);
  }
  ValueRule rule;
  if (schema.kinds.has_value()) rule.kinds = *schema.kinds;
  hold_numbers(rule, id, schema);
  hold_strings(rule, id, schema);
  hold_arrays(rule, id, schema);
  hold_objects(rule, id, schema);
  state.rule.meet(rule);
  PLM_TRY(hold_values(state, id, schema));
  hold_dependent(state, id, schema);
  return hold_choices(state, id, schema);
}

void SchemaExpansion::hold_numbers(ValueRule& rule, SchemaId id, const Schema& schema) {
  const auto low = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (value.has_value()) rule.number.meet({.lower = NumberRule::Bound{*value, exclusive}});
  };
  const auto high = [&](const std::optional<Decimal>& value, bool exclusive) {
    if (value.has_value()) rule.number.meet({.upper = NumberRule::Bound{*value, exclusive}});
  };
  low(schema.minimum, false);
  low(schema.exclusive_minimum, true);
  high(schema.maximum, false);
  high(schema.exclusive_maximum, true);
  if (schema.multiple_of.has_value()) rule.number.multiples.push_back({*schema.multiple_of, true, id});
}

void SchemaExpansion::hold_strings(ValueRule& rule, SchemaId id, const Schema& schema) {
  rule.string.min_length = schema.min_length.value_or(0);
  rule.string.max_length = schema.max_length.value_or(kUnbounded);
  if (schema.pattern.has_value()) rule.string.patterns.push_back({*schema.pattern, true, id});
  if (!schema.format.has_value() || is_storage_format(*schema.format)) return;
  if (const auto range = integer_format(*schema.format); range.has_value()) {
    rule.number.meet({.lower = NumberRule::Bound{range->lowest}, .upper = NumberRule::Bound{range->highest}});
  } else {
    rule.string.formats.push_back({*schema.format, true, id});
  }
}

void SchemaExpansion::hold_arrays(ValueRule& rule, SchemaId id, const Schema& schema) {
  ArrayRule& array = rule.array;
  array.min_items = schema.min_items.value_or(0);
  array.max_items = schema.max_items.value_or(kUnbounded);
  if (schema.unique_items) array.unique = id;
  const auto prefix = static_cast<std::uint32_t>(schema.prefix_items.size());
  for (std::uint32_t i = 0; i < prefix; ++i) array.items.push_back({i, i + 1, {schema.prefix_items[i], true}});
  if (schema.items.has_value()) array.items.push_back({prefix, kUnbounded, {*schema.items, true}});
  if (schema.contains.has_value()) {
    array.contains.push_back({.must = {*schema.contains, true},
                              .min = schema.min_contains.value_or(1),
                              .max = schema.max_contains.value_or(kUnbounded),
                              .origin = id});
  }
}

void SchemaExpansion::hold_objects(ValueRule& rule, SchemaId id, const Schema& schema) {
  ObjectRule& object = rule.object;
  for (const auto& [name, property] : schema.properties) object.members.push_back({key(name), {property, true}});
  for (const auto& [pattern, property] : schema.pattern_properties) {
    object.members.push_back({matching(pattern, id), {property, true}});
  }
  if (schema.additional_properties.has_value()) {
    object.members.push_back({additional(schema, id), {*schema.additional_properties, true}});
  }
  if (schema.property_names.has_value()) object.names.push_back({*schema.property_names, true});
  std::set<std::string_view> seen;
  for (const std::string& name : schema.required) {
    if (seen.insert(name).second) object.required.push_back(name);
  }
  object.min_properties = schema.min_properties.value_or(0);
  object.max_properties = schema.max_properties.value_or(kUnbounded);
}

// The null, booleans, numbers and strings among `values` as one option; arrays and objects go to `others`.
SchemaExpansion::Option SchemaExpansion::scalars(const std::vector<const SchemaValue*>& values,
                                                 std::vector<const SchemaValue*>& others) {
  Option option{.rule = only_kinds(0)};
  ValueRule& rule = option.rule;
  unsigned kinds = 0;
  for (const SchemaValue* value : values) {
    switch (value->kind) {
      case SchemaValue::Kind::null: kinds |= kNull; break;
      case SchemaValue::Kind::boolean: kinds |= value->truth ? kTrue : kFalse; break;
      case SchemaValue::Kind::number: {
        const auto number = Decimal::parse(value->text);
        if (!number.has_value()) break;  // beyond all numbers that are handled: hold_values refuses it
        kinds |= number->is_integer() ? kInteger : kFraction;
        if (!rule.number.only.has_value()) rule.number.only.emplace();
        rule.number.only->push_back(*number);
        break;
      }
      case SchemaValue::Kind::string:
        kinds |= kString;
        if (!rule.string.only.has_value()) rule.string.only.emplace();
        rule.string.only->push_back(value->text);
        break;
      case SchemaValue::Kind::array:
      case SchemaValue::Kind::object: others.push_back(value);
    }
  }
  rule.kinds = static_cast<std::uint8_t>(kinds);
  return option;
}

Result<void> SchemaExpansion::hold_values(State& state, SchemaId id, const Schema& schema) {
  const auto hold_list = [&](const std::vector<const SchemaValue*>& values, const char* keyword) -> Result<void> {
    for (const SchemaValue* value : values) {
      if (!value->is(SchemaValue::Kind::number) || Decimal::parse(value->text).has_value()) continue;
      return fail(
          ErrorKind::bad_input, "{}",
          document_.complaint(id, keyword, fmt::format("a number of more than {} digits", Decimal::kMostDigits)));
    }
    std::vector<const SchemaValue*> others;
    Choice choice{.options = {scalars(values, others)}, .origin = id, .keyword = keyword};
    if (others.empty()) {
      state.rule.meet(choice.options.front().rule);
      return {};
    }
    for (const SchemaValue* value : others) choice.options.push_back({.terms = {{constant(*value, id), true}}});
    state.choices.push_back(std::make_shared<Choice>(std::move(choice)));
    return {};
  };
  if (schema.constant != nullptr) PLM_TRY(hold_list({schema.constant}, "const"));
  return schema.values.has_value() ? hold_list(*schema.values, "enum") : Result<void>();
}

// The schema that only `value`, an array or an object, fits.
SchemaId SchemaExpansion::constant(const SchemaValue& value, SchemaId origin) {
  if (const auto known = logic_.constants_.find(&value); known != logic_.constants_.end()) return known->second;
  Schema schema;
  const auto part = [&](const SchemaValue& item) {
    if (!item.is_scalar()) return constant(item, origin);
    return document_.add(Schema{.constant = &item}, origin);
  };
  if (value.is(SchemaValue::Kind::array)) {
    schema.kinds = kArray;
    for (const SchemaValue& item : value.items) schema.prefix_items.push_back(part(item));
    schema.min_items = schema.max_items = static_cast<std::uint32_t>(value.items.size());
  } else {
    schema.kinds = kObject;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      schema.properties.emplace_back(value.keys[i], part(value.items[i]));
    }
    schema.required = value.keys;
    schema.additional_properties = document_.add(Schema{.truth = false}, origin);
  }
  const SchemaId id = document_.add(std::move(schema), origin);
  logic_.constants_.emplace(&value, id);
  return id;
}

// allOf and references: more schemas that the value fits.
Result<void> SchemaExpansion::hold_joined(State& state, SchemaId id, const Schema& schema) {
  if (schema.unevaluated_items.has_value() || schema.unevaluated_properties.has_value()) return {};
  for (auto branch = schema.all_of.rbegin(); branch != schema.all_of.rend(); ++branch) push(state, {*branch, true});
  if (schema.dynamic_reference != nullptr) {
    PLM_TRY_ASSIGN(const SchemaId to, document_.target(id, *schema.dynamic_reference, true));
    push(state, {to, true});
  }
  if (schema.reference != nullptr) {
    PLM_TRY_ASSIGN(const SchemaId to, document_.target(id, *schema.reference, false));
    push(state, {to, true});
  }
  if (schema.negation.has_value()) push(state, {*schema.negation, false});
  return {};
}

Result<void> SchemaExpansion::hold_choices(State& state, SchemaId id, const Schema& schema) {
  const auto add = [&](Choice choice) { state.choices.push_back(std::make_shared<Choice>(std::move(choice))); };
  if (!schema.any_of.empty()) {
    Choice choice{.origin = id, .keyword = "anyOf"};
    for (const SchemaId branch : schema.any_of) choice.options.push_back({.terms = {{branch, true}}});
    add(std::move(choice));
  }
  if (!schema.one_of.empty()) PLM_TRY(hold_one_of(state, id, schema));
  if (schema.condition.has_value() && (schema.consequence.has_value() || schema.alternative.has_value())) {
    const SchemaTerm condition{*schema.condition, true};
    const auto then = schema.consequence.has_value() ? SchemaTerm{*schema.consequence, true} : logic_.always();
    const auto otherwise = schema.alternative.has_value() ? SchemaTerm{*schema.alternative, true} : logic_.always();
    add({.options = {{.terms = {condition, then}}, {.terms = {condition.negated(), otherwise}}},
         .origin = id,
         .keyword = "if"});
  }
  return {};
}

// "If the object has this property, then ...": it has none, or it has one and the rest holds.
void SchemaExpansion::hold_dependent(State& state, SchemaId id, const Schema& schema) {
  const auto add = [&](const std::string& name, Option present, const char* keyword) {
    Option absent;
    absent.rule.object.members.push_back({key(name), logic_.never()});
    present.rule.kinds = kObject;
    present.rule.object.required.insert(present.rule.object.required.begin(), name);
    Choice choice{.options = {absent, std::move(present)}, .origin = id, .keyword = keyword};
    state.choices.push_back(std::make_shared<Choice>(std::move(choice)));
  };
  if ((state.rule.kinds & kObject) == 0) return;
  for (const auto& [name, needed] : schema.dependent_required) {
    Option present;
    for (const std::string& other : needed) {
      if (other != name) present.rule.object.required.push_back(other);
    }
    add(name, std::move(present), "dependentRequired");
  }
  for (const auto& [name, dependent] : schema.dependent_schemas) {
    add(name, {.terms = {{dependent, true}}}, "dependentSchemas");
  }
}

// Exactly one: each branch with the others that it overlaps denied.
Result<void> SchemaExpansion::hold_one_of(State& state, SchemaId id, const Schema& schema) {
  Choice choice{.origin = id, .keyword = "oneOf"};
  PLM_TRY_ASSIGN(const auto overlap, overlaps(id, schema));
  const std::size_t count = schema.one_of.size();
  for (std::size_t i = 0; i < count; ++i) {
    Option option{.terms = {{schema.one_of[i], true}}};
    for (std::size_t k = 0; k < count; ++k) {
      if (k != i && overlap[i][k]) option.terms.push_back({schema.one_of[k], false});
    }
    if (option.terms.size() > logic_.limits_.negated_branches) {
      PLM_TRY(logic_.refusals_.refuse(id, "oneOf",
                                      fmt::format("more than {} branches overlap; write anyOf, or give each a "
                                                  "property with a constant of its own",
                                                  logic_.limits_.negated_branches),
                                      ErrorKind::no_room));
      option.terms.resize(1);
    }
    choice.options.push_back(std::move(option));
  }
  state.choices.push_back(std::make_shared<Choice>(std::move(choice)));
  return {};
}

Result<std::vector<std::vector<bool>>> SchemaExpansion::overlaps(SchemaId id, const Schema& schema) {
  if (const auto known = logic_.overlaps_.find(id); known != logic_.overlaps_.end()) return known->second;
  const std::size_t count = schema.one_of.size();
  std::vector<std::vector<bool>> overlap(count, std::vector<bool>(count, false));
  PLM_TRY_ASSIGN(const bool apart, told_apart_by_tag(schema.one_of));
  if (apart) return logic_.overlaps_[id] = overlap;
  const bool few = count <= 4 * logic_.limits_.negated_branches;  // pairs are quadratic
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = i + 1; k < count; ++k) {
      bool empty = false;
      if (few) {
        SchemaTerms both;
        add_term(both, {schema.one_of[i], true});
        add_term(both, {schema.one_of[k], true});
        PLM_TRY_ASSIGN(empty, logic_.provably_empty(both));
      }
      overlap[i][k] = overlap[k][i] = !empty;
    }
  }
  return logic_.overlaps_[id] = overlap;
}

// Whether every branch is of objects with one required property that has another constant in each.
Result<bool> SchemaExpansion::told_apart_by_tag(const std::vector<SchemaId>& branches) {
  std::map<std::string, std::set<std::string>> values;
  for (const SchemaId branch : branches) {
    PLM_TRY_ASSIGN(const auto found, tags(branch));
    for (const auto& [name, value] : found) values[name].insert(value);
  }
  return std::any_of(values.begin(), values.end(),
                     [&](const auto& entry) { return entry.second.size() == branches.size(); });
}

// Required properties of an object schema that are one string each: (name, string).
Result<std::vector<std::pair<std::string, std::string>>> SchemaExpansion::tags(SchemaId id) {
  std::vector<std::pair<std::string, std::string>> found;
  PLM_TRY_ASSIGN(const Schema* schema, document_.schema(id));
  for (int hops = 0; schema->reference != nullptr && hops < 8; ++hops) {
    PLM_TRY_ASSIGN(id, document_.target(id, *schema->reference, false));
    PLM_TRY_ASSIGN(schema, document_.schema(id));
  }
  if (schema->kinds != kObject) return found;
  const std::set<std::string_view> required(schema->required.begin(), schema->required.end());
  for (const auto& [name, property] : schema->properties) {
    if (!required.contains(name)) continue;
    PLM_TRY_ASSIGN(const Schema* inner, document_.schema(property));
    const SchemaValue* value = inner->constant;
    if (value == nullptr && inner->values.has_value() && inner->values->size() == 1) value = inner->values->front();
    if (value != nullptr && value->is(SchemaValue::Kind::string)) found.emplace_back(name, value->text);
  }
  return found;
}

}  // namespace plm
