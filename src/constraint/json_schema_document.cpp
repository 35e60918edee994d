#include "constraint/json_schema_document.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "constraint/json_schema_reader.h"

namespace plm {
namespace {

// Keywords whose value is a schema, or a list of them, or an object of them.
constexpr std::array<std::string_view, 16> kSchemaKeywords = {"additionalItems",
                                                              "additionalProperties",
                                                              "allOf",
                                                              "anyOf",
                                                              "contains",
                                                              "contentSchema",
                                                              "else",
                                                              "if",
                                                              "items",
                                                              "not",
                                                              "oneOf",
                                                              "prefixItems",
                                                              "propertyNames",
                                                              "then",
                                                              "unevaluatedItems",
                                                              "unevaluatedProperties"};
constexpr std::array<std::string_view, 6> kSchemaMaps = {"$defs",      "definitions",       "dependencies",
                                                         "properties", "patternProperties", "dependentSchemas"};

constexpr std::size_t kFewKeys = 32;

bool is_schema(const SchemaValue& value) {
  return value.is(SchemaValue::Kind::object) || value.is(SchemaValue::Kind::boolean);
}

const std::string* string_member(const SchemaValue& value, std::string_view key) {
  const SchemaValue* member = value.find(key);
  return member != nullptr && member->is(SchemaValue::Kind::string) ? &member->text : nullptr;
}

}  // namespace

Result<std::unique_ptr<SchemaDocument>> SchemaDocument::read(std::string_view text, const ConstraintLimits& limits) {
  PLM_TRY_ASSIGN(auto value, read_schema_value(text, "json schema", limits.text_bytes, limits.nesting));
  if (!is_schema(*value)) {
    return fail(ErrorKind::bad_input, "json schema: is {}, expected an object or a boolean", kind_name(value->kind));
  }
  std::unique_ptr<SchemaDocument> document(new SchemaDocument(std::move(value)));
  if (const SchemaValue* declared = document->text_->find("$schema"); declared != nullptr) {
    if (!declared->is(SchemaValue::Kind::string)) {
      return fail(ErrorKind::bad_input, "json schema: #: $schema: is {}, expected a string", kind_name(declared->kind));
    }
    PLM_TRY(document->find_dialect(declared->text));
  }
  document->bases_.emplace_back();
  document->by_uri_[""] = 0;
  document->index(document->place(*document->text_, 0, ""));
  return document;
}

Result<void> SchemaDocument::find_dialect(std::string_view declared) {
  std::string_view name = declared;
  if (const std::size_t scheme = name.find("://"); scheme != std::string_view::npos) name.remove_prefix(scheme + 3);
  if (name.ends_with('#')) name.remove_suffix(1);
  dialect_declared_ = true;
  if (name == "json-schema.org/draft/2020-12/schema") {
    dialect_ = SchemaDialect::draft_2020_12;
  } else if (name == "json-schema.org/draft/2019-09/schema") {
    dialect_ = SchemaDialect::draft_2019_09;
  } else if (name == "json-schema.org/draft-07/schema" || name == "json-schema.org/draft-06/schema") {
    dialect_ = SchemaDialect::draft_07;
  } else {
    return fail(ErrorKind::bad_input,
                "json schema: #: $schema: unknown dialect \"{}\"; expected draft 2020-12, 2019-09 or draft-07",
                printable(declared, 100));
  }
  return {};
}

SchemaId SchemaDocument::place(const SchemaValue& value, SchemaId parent, std::string segment) {
  const auto [found, added] = by_value_.emplace(&value, static_cast<SchemaId>(places_.size()));
  if (!added) return found->second;
  const std::uint32_t base = places_.empty() ? 0 : places_[parent].base;
  places_.push_back({.value = &value, .parent = parent, .segment = std::move(segment), .base = base});
  return found->second;
}

// Finds the schemas inside of `id` that have names of their own.
void SchemaDocument::index(SchemaId id) {
  const SchemaValue& value = *places_[id].value;
  if (!value.is(SchemaValue::Kind::object)) return;
  const bool only_reference = dialect_ == SchemaDialect::draft_07 && value.find("$ref") != nullptr;
  if (const std::string* name = string_member(value, "$id"); name != nullptr && !only_reference) {
    const UriParts uri = join_uri(bases_[places_[id].base], *name);
    if (!uri.fragment.empty()) by_uri_.emplace(uri.absolute + "#" + uri.fragment, id);  // draft-07's anchors
    if (!name->starts_with('#')) {
      bases_.push_back(uri.absolute);
      places_[id].base = static_cast<std::uint32_t>(bases_.size() - 1);
      by_uri_.emplace(uri.absolute, id);
    }
  }
  if (dialect_ != SchemaDialect::draft_07) index_name(id, "$anchor", false);
  if (dialect_ == SchemaDialect::draft_2020_12) index_name(id, "$dynamicAnchor", true);
  if (const SchemaValue* anchor = value.find("$recursiveAnchor"); anchor != nullptr && anchor->truth) {
    ++dynamic_anchors_["$recursive"];
  }
  if (!only_reference || id == 0) index_children(id);
}

void SchemaDocument::index_children(SchemaId id) {
  const SchemaValue& value = *places_[id].value;
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& key = value.keys[i];
    const SchemaValue& member = value.items[i];
    const auto is_in = [&](const auto& list) { return std::find(list.begin(), list.end(), key) != list.end(); };
    if (is_in(kSchemaMaps) && member.is(SchemaValue::Kind::object)) {
      for (std::size_t k = 0; k < member.keys.size(); ++k) {
        if (!is_schema(member.items[k])) continue;
        index(place(member.items[k], id, key + "/" + pointer_escaped(member.keys[k])));
      }
    } else if (is_in(kSchemaKeywords) && member.is(SchemaValue::Kind::array)) {
      for (std::size_t k = 0; k < member.items.size(); ++k) {
        if (is_schema(member.items[k])) index(place(member.items[k], id, fmt::format("{}/{}", key, k)));
      }
    } else if (is_in(kSchemaKeywords) && is_schema(member)) {
      index(place(member, id, key));
    }
  }
}

void SchemaDocument::index_name(SchemaId id, std::string_view keyword, bool dynamic) {
  const std::string* name = string_member(*places_[id].value, keyword);
  if (name == nullptr) return;
  by_uri_.emplace(bases_[places_[id].base] + "#" + *name, id);
  if (dynamic) ++dynamic_anchors_[*name];
}

Result<const Schema*> SchemaDocument::schema(SchemaId id) {
  if (places_[id].schema == nullptr) {
    PLM_TRY_ASSIGN(Schema schema, read_schema(*this, id));
    places_[id].schema = std::make_unique<Schema>(std::move(schema));
  }
  return places_[id].schema.get();
}

SchemaId SchemaDocument::add(Schema schema, SchemaId origin) {
  places_.push_back({.parent = origin, .base = places_[origin].base});
  places_.back().schema = std::make_unique<Schema>(std::move(schema));
  return static_cast<SchemaId>(places_.size() - 1);
}

Result<SchemaId> SchemaDocument::target(SchemaId id, const SchemaValue& reference, bool dynamic) {
  const std::string_view keyword = !dynamic                                   ? "$ref"
                                   : dialect_ == SchemaDialect::draft_2019_09 ? "$recursiveRef"
                                                                              : "$dynamicRef";
  const UriParts uri = join_uri(bases_[places_[id].base], reference.text);
  const auto document = by_uri_.find(uri.absolute);
  if (document == by_uri_.end()) {
    return fail(ErrorKind::bad_input, "{}",
                complaint(id, keyword,
                          fmt::format("\"{}\" is outside of this document; put the schema under $defs",
                                      printable(reference.text, 100))));
  }
  if (dynamic) {
    const std::string name = keyword == "$recursiveRef" ? "$recursive" : uri.fragment;
    if (const auto anchors = dynamic_anchors_.find(name); anchors != dynamic_anchors_.end() && anchors->second > 1) {
      return fail(ErrorKind::bad_input, "{}",
                  complaint(id, keyword,
                            fmt::format("not supported where {} schemas have this dynamic anchor; "
                                        "name one with $ref",
                                        anchors->second)));
    }
  }
  if (uri.fragment.empty()) return document->second;
  if (uri.fragment.starts_with('/')) return by_pointer(document->second, uri.fragment, id);
  const auto anchor = by_uri_.find(uri.absolute + "#" + uri.fragment);
  if (anchor != by_uri_.end()) return anchor->second;
  return fail(ErrorKind::bad_input, "{}",
              complaint(id, keyword, fmt::format("\"{}\" names no $anchor", printable(reference.text, 100))));
}

// As value.find(name), but documents with many definitions have as many references into one object.
const SchemaValue* SchemaDocument::member(const SchemaValue& value, const std::string& name) {
  if (value.keys.size() <= kFewKeys) return value.find(name);
  auto& index = members_[&value];
  if (index.empty()) {
    for (std::size_t i = 0; i < value.keys.size(); ++i) index.emplace(value.keys[i], i);
  }
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &value.items[found->second];
}

Result<SchemaId> SchemaDocument::by_pointer(SchemaId from, const std::string& pointer, SchemaId asking) {
  SchemaId parent = from;
  std::string segment;
  const SchemaValue* value = places_[from].value;
  std::string_view rest = pointer;
  while (!rest.empty() && value != nullptr) {
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string name = pointer_unescaped(rest.substr(1, end - 1));
    rest.remove_prefix(end);
    const SchemaValue* next = member(*value, name);
    if (value->is(SchemaValue::Kind::array) && !name.empty() && name.size() < 9 &&
        name.find_first_not_of("0123456789") == std::string::npos && std::stoul(name) < value->items.size()) {
      next = &value->items[std::stoul(name)];
    }
    value = next;
    segment += (segment.empty() ? "" : "/") + pointer_escaped(name);
    if (const auto known = by_value_.find(value); known != by_value_.end()) {
      parent = known->second;
      segment.clear();
    }
  }
  if (value != nullptr && is_schema(*value)) return segment.empty() ? parent : place(*value, parent, segment);
  return fail(ErrorKind::bad_input, "{}",
              complaint(asking, "$ref", fmt::format("\"#{}\" names no schema", printable(pointer, 100))));
}

Result<std::vector<SchemaId>> SchemaDocument::in_place(SchemaId id) {
  PLM_TRY_ASSIGN(const Schema* read, schema(id));
  const Schema& schema = *read;
  std::vector<SchemaId> ids;
  for (const auto* list : {&schema.all_of, &schema.any_of, &schema.one_of}) {
    ids.insert(ids.end(), list->begin(), list->end());
  }
  for (const auto& one : {schema.negation, schema.condition, schema.consequence, schema.alternative}) {
    if (one.has_value()) ids.push_back(*one);
  }
  for (const auto& [key, dependent] : schema.dependent_schemas) ids.push_back(dependent);
  if (schema.reference != nullptr) {
    PLM_TRY_ASSIGN(const SchemaId to, target(id, *schema.reference, false));
    ids.push_back(to);
  }
  if (schema.dynamic_reference != nullptr) {
    PLM_TRY_ASSIGN(const SchemaId to, target(id, *schema.dynamic_reference, true));
    ids.push_back(to);
  }
  return ids;
}

std::string SchemaDocument::pointer(SchemaId id) const {
  std::vector<std::string_view> segments;
  for (; id != 0; id = places_[id].parent) {
    if (!places_[id].segment.empty()) segments.push_back(places_[id].segment);
  }
  std::string result = "#";
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    result += "/";
    result += *segment;
  }
  return result;
}

std::string SchemaDocument::complaint(SchemaId id, std::string_view keyword, std::string_view text) const {
  return fmt::format("json schema: {}: {}: {}", printable(pointer(id), 300), keyword, text);
}

}  // namespace plm
