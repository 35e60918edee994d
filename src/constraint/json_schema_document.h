// A JSON Schema document as schemas: every subschema has a number, its keywords are checked and read when it is first
// needed, and references ($ref, $anchor, $id, $dynamicRef, $recursiveRef) lead to numbers.
//
// Follows JSON Schema 2020-12, 2019-09 and draft-07 (core and validation). What a dialect does not know, or what this
// engine does not, is never passed over in silence: it is an annotation of the standard, a warning (unknown keyword) or
// an error that names pointer and keyword.
// What must stay true: nothing outside of the document is ever fetched; a schema is read at most once; references that
// lead back to themselves without passing a property or an item are errors.
// Tested by tests/constraint/test_json_schema_document.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "constraint/decimal.h"
#include "constraint/json_schema_uri.h"
#include "constraint/json_schema_value.h"
#include "constraint/limits.h"

namespace plm {

enum class SchemaDialect : std::uint8_t { draft_07, draft_2019_09, draft_2020_12 };

/// Kinds of JSON values as bits. Integers are apart from the other numbers so that "not an integer" can be said.
enum ValueKind : std::uint8_t {
  kNull = 1,
  kFalse = 2,
  kTrue = 4,
  kInteger = 8,
  kFraction = 16,
  kString = 32,
  kArray = 64,
  kObject = 128,
  kNumber = kInteger | kFraction,
  kAnyKind = 255,
};

using SchemaId = std::uint32_t;

/// The keywords of one schema, checked for form.
struct Schema {
  template <typename T>
  using Named = std::vector<std::pair<std::string, T>>;

  std::optional<bool> truth;  ///< true and false as schemas
  std::optional<std::uint8_t> kinds;
  std::optional<std::vector<const SchemaValue*>> values;  ///< enum
  const SchemaValue* constant = nullptr;                  ///< const

  std::optional<Decimal> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;
  std::optional<std::uint32_t> min_length, max_length;
  std::optional<std::string> pattern, format;

  std::vector<SchemaId> prefix_items;
  std::optional<SchemaId> items, contains;  ///< `items`: for the elements after the prefix
  std::optional<std::uint32_t> min_contains, max_contains, min_items, max_items;
  bool unique_items = false;

  bool late_properties = false;  ///< written after $ref or allOf, whose properties then come first
  Named<SchemaId> properties, pattern_properties, dependent_schemas;
  std::optional<SchemaId> additional_properties, property_names;
  std::optional<std::uint32_t> min_properties, max_properties;
  std::vector<std::string> required;
  Named<std::vector<std::string>> dependent_required;

  std::vector<SchemaId> all_of, any_of, one_of;
  std::optional<SchemaId> negation, condition, consequence, alternative;  ///< not, if, then, else
  const SchemaValue* reference = nullptr;                                 ///< $ref
  const SchemaValue* dynamic_reference = nullptr;                         ///< $dynamicRef, or $recursiveRef
  std::optional<SchemaId> unevaluated_items, unevaluated_properties;
};

/// A keyword of a schema and what became of it, for reports.
struct SchemaRemark {
  std::string pointer;  ///< "#/properties/a"
  std::string keyword;
  std::string text;
};

class SchemaDocument {
 public:
  /// Reads and indexes a document; subschemas are checked later. Errors: bad_input (not JSON, too large or too deep,
  /// an unknown $schema).
  static Result<std::unique_ptr<SchemaDocument>> read(std::string_view text, const ConstraintLimits& limits);

  [[nodiscard]] SchemaId root() const { return 0; }
  [[nodiscard]] SchemaDialect dialect() const { return dialect_; }
  /// The keywords of a schema, valid as long as the document. Errors: bad_input (a keyword of the wrong form, an
  /// unsupported keyword).
  Result<const Schema*> schema(SchemaId id);
  /// Where $ref (or $dynamicRef) of `id` leads. Errors: bad_input (outside of the document, or nowhere).
  Result<SchemaId> target(SchemaId id, const SchemaValue& reference, bool dynamic);
  /// Schemas that apply to the same value as `id` itself. Errors: as `schema` and `target`.
  Result<std::vector<SchemaId>> in_place(SchemaId id);
  /// A schema of our own that stands for nothing in the text: a constant's parts, a property that must be absent.
  SchemaId add(Schema schema, SchemaId origin);

  /// "#/properties/a" of a schema.
  [[nodiscard]] std::string pointer(SchemaId id) const;
  /// "json schema: #/properties/a: minimum: <text>".
  [[nodiscard]] std::string complaint(SchemaId id, std::string_view keyword, std::string_view text) const;
  /// Keywords that nothing defines, and other remarks made while reading.
  [[nodiscard]] const std::vector<SchemaRemark>& warnings() const { return warnings_; }
  /// Every keyword that was read and constrains something.
  [[nodiscard]] const std::vector<SchemaRemark>& asserted() const { return asserted_; }

 private:
  friend class SchemaReader;
  struct Place {
    const SchemaValue* value = nullptr;  // null: of our own
    SchemaId parent = 0;
    std::string segment;  // from the parent, escaped: "properties/a"
    std::uint32_t base = 0;
    std::unique_ptr<Schema> schema;
  };

  explicit SchemaDocument(std::unique_ptr<SchemaValue> text) : text_(std::move(text)) {}
  Result<void> find_dialect(std::string_view declared);
  SchemaId place(const SchemaValue& value, SchemaId parent, std::string segment);
  void index(SchemaId id);
  void index_children(SchemaId id);
  void index_name(SchemaId id, std::string_view keyword, bool dynamic);
  const SchemaValue* member(const SchemaValue& value, const std::string& name);
  Result<SchemaId> by_pointer(SchemaId from, const std::string& pointer, SchemaId asking);

  std::unique_ptr<SchemaValue> text_;
  SchemaDialect dialect_ = SchemaDialect::draft_2020_12;
  bool dialect_declared_ = false;
  std::vector<Place> places_;
  std::vector<std::string> bases_;
  std::unordered_map<const SchemaValue*, SchemaId> by_value_;
  std::unordered_map<std::string, SchemaId> by_uri_;              // resources, and anchors as "uri#name"
  std::unordered_map<std::string, std::size_t> dynamic_anchors_;  // how many schemas have the name
  std::unordered_map<const SchemaValue*, std::unordered_map<std::string_view, std::size_t>> members_;  // of large ones
  std::vector<SchemaRemark> warnings_;
  std::vector<SchemaRemark> asserted_;
};

}  // namespace plm
