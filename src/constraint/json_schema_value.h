// A JSON document as it was written: numbers keep their digits and objects the order of their members, which a schema
// needs (bounds are exact decimals, properties come in the order of the schema) and a parser into doubles loses.
// What must stay true: values never move after reading, so that their addresses name them.
// Tested by tests/constraint/test_json_schema_document.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

struct SchemaValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool truth = false;              ///< of a boolean
  std::string text;                ///< a string's characters (UTF-8); a number's digits as written
  std::vector<SchemaValue> items;  ///< of an array; the values of an object
  std::vector<std::string> keys;   ///< of an object, beside `items`

  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  [[nodiscard]] bool is_scalar() const { return kind != Kind::array && kind != Kind::object; }
  /// The member `key` of an object; null if there is none or this is no object.
  [[nodiscard]] const SchemaValue* find(std::string_view key) const;
};

/// "array", "number" ... for messages.
[[nodiscard]] std::string_view kind_name(SchemaValue::Kind kind);

/// Whether two values are the same JSON value: 1 is 1.0, the order of members does not count.
[[nodiscard]] bool same_value(const SchemaValue& a, const SchemaValue& b);

/// The JSON string `text` in quotes with only the escapes that are needed: the one spelling that constants get.
[[nodiscard]] std::string json_quoted(std::string_view text);

/// Errors (bad_input; `name` is the object that they name): longer than `bytes`, nested deeper than `depth`, a key
/// twice in one object, not JSON, not UTF-8.
[[nodiscard]] Result<std::unique_ptr<SchemaValue>> read_schema_value(std::string_view text, std::string_view name,
                                                                     std::size_t bytes, std::size_t depth);

}  // namespace plm
