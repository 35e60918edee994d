#include "constraint/json_schema_reader.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "constraint/json_schema_format.h"

namespace plm {
namespace {

using Kind = SchemaValue::Kind;

constexpr std::uint32_t kMostCount = 1'000'000'000;  // minLength and the like; beyond it a bound says nothing

struct NamedKind {
  std::string_view name;
  std::uint8_t bits;
};
constexpr std::array<NamedKind, 7> kKinds = {{{"null", kNull},
                                              {"boolean", kFalse | kTrue},
                                              {"integer", kInteger},
                                              {"number", kNumber},
                                              {"string", kString},
                                              {"array", kArray},
                                              {"object", kObject}}};

// Words of the standard that constrain nothing.
constexpr std::array<std::string_view, 17> kAnnotations = {
    "title",    "description",    "default",          "examples",      "$comment",        "deprecated",
    "readOnly", "writeOnly",      "contentEncoding",  "contentSchema", "$schema",         "$id",
    "$anchor",  "$dynamicAnchor", "contentMediaType", "$vocabulary",   "$recursiveAnchor"};

}  // namespace

// Reads the keywords of one schema; the first problem ends it.
class SchemaReader {
 public:
  SchemaReader(SchemaDocument& document, SchemaId id) : document_(document), id_(id) {}

  Result<Schema> read() {
    const SchemaValue& value = *document_.places_[id_].value;
    if (value.is(Kind::boolean)) {
      schema_.truth = value.truth;
      return std::move(schema_);
    }
    if (draft_07()) {
      if (const SchemaValue* reference = value.find("$ref"); reference != nullptr) return read_only_reference(value);
    }
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      keyword_ = value.keys[i];
      if (keyword_ == "properties") schema_.late_properties = schema_.reference != nullptr || !schema_.all_of.empty();
      PLM_TRY(keyword(value.items[i]));
    }
    return finish(value);
  }

 private:
  [[nodiscard]] bool draft_07() const { return document_.dialect_ == SchemaDialect::draft_07; }
  [[nodiscard]] bool draft_2020_12() const { return document_.dialect_ == SchemaDialect::draft_2020_12; }

  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}",
                document_.complaint(id_, printable(keyword_, 60), fmt::format(format, std::forward<Args>(args)...)));
  }
  [[nodiscard]] tl::unexpected<Error> wrong_kind(const SchemaValue& value, std::string_view expected) const {
    return refuse("is {}, expected {}", kind_name(value.kind), expected);
  }
  void warn(std::string text) { document_.warnings_.push_back({document_.pointer(id_), keyword_, std::move(text)}); }

  // In draft-07 a reference stands alone: the standard ignores the words beside it.
  Result<Schema> read_only_reference(const SchemaValue& value) {
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      keyword_ = value.keys[i];
      if (keyword_ == "$ref") {
        PLM_TRY(keyword(value.items[i]));
      } else if (keyword_ != "definitions" && keyword_ != "$defs" && !is_annotation()) {
        warn("ignored beside $ref, as draft-07 says");
      }
    }
    return std::move(schema_);
  }

  [[nodiscard]] bool is_annotation() const {
    return std::find(kAnnotations.begin(), kAnnotations.end(), keyword_) != kAnnotations.end();
  }

  Result<void> keyword(const SchemaValue& value) {
    if (is_annotation() || keyword_ == "$defs" || keyword_ == "definitions") return {};
    bool known = true;
    for (const auto part : {&SchemaReader::value_keyword, &SchemaReader::number_keyword, &SchemaReader::string_keyword,
                            &SchemaReader::array_keyword, &SchemaReader::object_keyword, &SchemaReader::logic_keyword,
                            &SchemaReader::reference_keyword}) {
      known = true;
      PLM_TRY((this->*part)(value, known));
      if (known) {
        document_.asserted_.push_back({document_.pointer(id_), keyword_, ""});
        return {};
      }
    }
    if (keyword_ == "nullable" && !(value.is(Kind::boolean) && !value.truth)) {
      return refuse("is OpenAPI's, not JSON Schema's; write \"type\": [..., \"null\"]");
    }
    warn("unknown keyword, constrains nothing");
    return {};
  }

  Result<void> value_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "type") return read_kinds(value);
    if (keyword_ == "const") {
      schema_.constant = &value;
      return {};
    }
    known = keyword_ == "enum";
    if (!known) return {};
    if (!value.is(Kind::array)) return wrong_kind(value, "an array of values");
    schema_.values.emplace();
    for (const SchemaValue& item : value.items) schema_.values->push_back(&item);
    return {};
  }

  Result<void> read_kinds(const SchemaValue& value) {
    schema_.kinds = 0;
    if (value.is(Kind::array)) {
      for (const SchemaValue& item : value.items) PLM_TRY(add_kind(item));
      return {};
    }
    return add_kind(value);
  }

  Result<void> add_kind(const SchemaValue& value) {
    if (!value.is(Kind::string)) return wrong_kind(value, "the name of a type");
    for (const NamedKind& kind : kKinds) {
      if (kind.name != value.text) continue;
      schema_.kinds = static_cast<std::uint8_t>(*schema_.kinds | kind.bits);
      return {};
    }
    return refuse("\"{}\" is no type of JSON", printable(value.text, 60));
  }

  Result<void> number_keyword(const SchemaValue& value, bool& known) {
    std::optional<Decimal>* target = keyword_ == "minimum"            ? &schema_.minimum
                                     : keyword_ == "maximum"          ? &schema_.maximum
                                     : keyword_ == "exclusiveMinimum" ? &schema_.exclusive_minimum
                                     : keyword_ == "exclusiveMaximum" ? &schema_.exclusive_maximum
                                     : keyword_ == "multipleOf"       ? &schema_.multiple_of
                                                                      : nullptr;
    known = target != nullptr;
    if (!known) return {};
    if (!value.is(Kind::number)) return wrong_kind(value, "a number");
    *target = Decimal::parse(value.text);
    if (!target->has_value()) {
      return refuse("{} has more than {} digits", printable(value.text, 40), Decimal::kMostDigits);
    }
    if (keyword_ == "multipleOf" && (**target <= Decimal())) return refuse("is {}, expected more than 0", value.text);
    return {};
  }

  Result<void> read_count(const SchemaValue& value, std::optional<std::uint32_t>& target) {
    const auto count = value.is(Kind::number) ? Decimal::parse(value.text) : std::nullopt;
    if (!count.has_value() || count->is_negative() || !count->is_integer()) {
      return refuse("is {}, expected a count of 0 or more",
                    value.is(Kind::number) ? printable(value.text, 40) : std::string(kind_name(value.kind)));
    }
    const auto small = count->small_integer();
    if (!small.has_value() || *small > kMostCount) {
      if (keyword_.starts_with("max")) return {};  // no text is that long
      return refuse("is {}, at most {} is counted", printable(value.text, 40), kMostCount);
    }
    target = static_cast<std::uint32_t>(*small);
    return {};
  }

  Result<void> read_string(const SchemaValue& value, std::optional<std::string>& target) {
    if (!value.is(Kind::string)) return wrong_kind(value, "a string");
    target = value.text;
    return {};
  }

  Result<void> string_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "minLength") return read_count(value, schema_.min_length);
    if (keyword_ == "maxLength") return read_count(value, schema_.max_length);
    if (keyword_ == "pattern") return read_string(value, schema_.pattern);
    if (keyword_ == "format") {
      PLM_TRY(read_string(value, schema_.format));
      if (is_storage_format(*schema_.format)) warn("says how a program keeps the value; constrains nothing");
      return {};
    }
    known = false;
    return {};
  }

  Result<void> array_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "items") return read_items(value);
    if (keyword_ == "contains") return read_one(value, schema_.contains);
    if (keyword_ == "minItems") return read_count(value, schema_.min_items);
    if (keyword_ == "maxItems") return read_count(value, schema_.max_items);
    if (keyword_ == "uniqueItems") {
      if (!value.is(Kind::boolean)) return wrong_kind(value, "true or false");
      schema_.unique_items = value.truth;
      return {};
    }
    if (!draft_07() && keyword_ == "minContains") return read_count(value, schema_.min_contains);
    if (!draft_07() && keyword_ == "maxContains") return read_count(value, schema_.max_contains);
    if (!draft_07() && keyword_ == "unevaluatedItems") return read_one(value, schema_.unevaluated_items);
    if (draft_2020_12() && keyword_ == "prefixItems") return read_list(value, schema_.prefix_items);
    known = keyword_ == "additionalItems" && reads_old_items();
    return known ? read_one(value, additional_items_) : Result<void>();
  }

  // `items` as a list is how the drafts before 2020-12 wrote prefixItems; many schemas that name no draft still do.
  [[nodiscard]] bool reads_old_items() const { return !draft_2020_12() || !document_.dialect_declared_; }

  Result<void> read_items(const SchemaValue& value) {
    if (!value.is(Kind::array)) return read_one(value, schema_.items);
    if (!reads_old_items()) return refuse("is an array, expected a schema; draft 2020-12 has prefixItems for that");
    old_items_ = true;
    return read_list(value, schema_.prefix_items);
  }

  Result<void> object_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "properties") return read_named(value, schema_.properties);
    if (keyword_ == "patternProperties") return read_named(value, schema_.pattern_properties);
    if (keyword_ == "additionalProperties") return read_one(value, schema_.additional_properties);
    if (keyword_ == "propertyNames") return read_one(value, schema_.property_names);
    if (keyword_ == "minProperties") return read_count(value, schema_.min_properties);
    if (keyword_ == "maxProperties") return read_count(value, schema_.max_properties);
    if (keyword_ == "required") return read_names(value, schema_.required);
    if (keyword_ == "dependencies") return read_dependencies(value);
    if (!draft_07()) {
      if (keyword_ == "dependentSchemas") return read_named(value, schema_.dependent_schemas);
      if (keyword_ == "dependentRequired") return read_dependencies(value);
      if (keyword_ == "unevaluatedProperties") return read_one(value, schema_.unevaluated_properties);
    }
    known = false;
    return {};
  }

  Result<void> read_names(const SchemaValue& value, std::vector<std::string>& target) {
    if (!value.is(Kind::array)) return wrong_kind(value, "an array of property names");
    for (const SchemaValue& item : value.items) {
      if (!item.is(Kind::string)) return refuse("holds {}, expected property names", kind_name(item.kind));
      target.push_back(item.text);
    }
    return {};
  }

  // dependentRequired, and draft-07's dependencies, which may hold schemas as well.
  Result<void> read_dependencies(const SchemaValue& value) {
    if (!value.is(Kind::object)) return wrong_kind(value, "an object");
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const SchemaValue& item = value.items[i];
      if (item.is(Kind::array) || keyword_ == "dependentRequired") {
        std::vector<std::string> names;
        PLM_TRY(read_names(item, names));
        schema_.dependent_required.emplace_back(value.keys[i], std::move(names));
      } else {
        PLM_TRY_ASSIGN(const SchemaId id, child(item, "/" + pointer_escaped(value.keys[i])));
        schema_.dependent_schemas.emplace_back(value.keys[i], id);
      }
    }
    return {};
  }

  Result<void> logic_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "allOf") return read_list(value, schema_.all_of);
    if (keyword_ == "anyOf") return read_list(value, schema_.any_of);
    if (keyword_ == "oneOf") return read_list(value, schema_.one_of);
    if (keyword_ == "not") return read_one(value, schema_.negation);
    if (keyword_ == "if") return read_one(value, schema_.condition);
    if (keyword_ == "then") return read_one(value, schema_.consequence);
    if (keyword_ == "else") return read_one(value, schema_.alternative);
    known = false;
    return {};
  }

  Result<void> reference_keyword(const SchemaValue& value, bool& known) {
    if (keyword_ == "$ref") {
      if (!value.is(Kind::string)) return wrong_kind(value, "a string");
      schema_.reference = &value;
      return {};
    }
    known = (draft_2020_12() && keyword_ == "$dynamicRef") ||
            (document_.dialect_ == SchemaDialect::draft_2019_09 && keyword_ == "$recursiveRef");
    if (!known) return {};
    if (!value.is(Kind::string)) return wrong_kind(value, "a string");
    schema_.dynamic_reference = &value;
    return {};
  }

  Result<SchemaId> child(const SchemaValue& value, const std::string& suffix) {
    if (!value.is(Kind::object) && !value.is(Kind::boolean)) return wrong_kind(value, "a schema");
    return document_.place(value, id_, keyword_ + suffix);
  }

  Result<void> read_one(const SchemaValue& value, std::optional<SchemaId>& target) {
    PLM_TRY_ASSIGN(target, child(value, ""));
    return {};
  }

  Result<void> read_list(const SchemaValue& value, std::vector<SchemaId>& target) {
    if (!value.is(Kind::array)) return wrong_kind(value, "an array of schemas");
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      PLM_TRY_ASSIGN(const SchemaId id, child(value.items[i], fmt::format("/{}", i)));
      target.push_back(id);
    }
    if (target.empty() && (keyword_ == "anyOf" || keyword_ == "oneOf")) return refuse("is empty, no value fits it");
    return {};
  }

  Result<void> read_named(const SchemaValue& value, Schema::Named<SchemaId>& target) {
    if (!value.is(Kind::object)) return wrong_kind(value, "an object of schemas");
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      PLM_TRY_ASSIGN(const SchemaId id, child(value.items[i], "/" + pointer_escaped(value.keys[i])));
      target.emplace_back(value.keys[i], id);
    }
    return {};
  }

  Result<Schema> finish(const SchemaValue& value) {
    if (additional_items_.has_value()) {
      if (old_items_) {
        schema_.items = additional_items_;
      } else {
        keyword_ = "additionalItems";
        warn("constrains nothing where items is no array");
      }
    }
    if (old_items_ && draft_2020_12()) {
      keyword_ = "items";
      warn("an array: read as drafts before 2020-12 do; prefixItems is its name now");
      if (value.find("prefixItems") != nullptr) return refuse("is an array beside prefixItems");
    }
    return std::move(schema_);
  }

  SchemaDocument& document_;
  SchemaId id_;
  Schema schema_;
  std::string keyword_;
  std::optional<SchemaId> additional_items_;
  bool old_items_ = false;
};

Result<Schema> read_schema(SchemaDocument& document, SchemaId id) { return SchemaReader(document, id).read(); }

}  // namespace plm
