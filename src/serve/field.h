// The fields of requests: declared once, from which reading, validation and the OpenAPI document derive.
//
// What a client sends is never dropped in silence: a field that acts is read by its type and range; one without effect
// here is ignored, and said to be, unless its value is one that would change nothing; one that is not declared is the
// dialect's to judge (sampling controls are declared elsewhere) and else ignored. null is no value.
// Tested by tests/serve/test_field.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace plm {

enum class FieldType : std::uint8_t {
  boolean,  ///< true, false, 1, 0
  integer,  ///< a whole number, also written 5.0
  real,
  text,
  texts,   ///< a text, or an array of texts
  object,  ///< also empty
  array,
  any,  ///< its reader looks closer
};

enum class FieldUse : std::uint8_t {
  acts,
  is_inert,  ///< says nothing about the answer: who asks, a label
  is_ignored,
};

struct Field {
  std::string_view name;
  std::string_view aliases = {};  ///< separated by ", "; where several are given the first in this order counts
  std::string_view summary = {};
  FieldType type = FieldType::text;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  FieldUse use = FieldUse::acts;
  std::string_view neutral = {};  ///< of an ignored field: values that change nothing anyway, a JSON array
};

/// The declared fields of a route, in tables that routes share.
using FieldTable = std::span<const Field> (*)();
using FieldTables = std::span<const FieldTable>;

/// The type in words: "a whole number from 0 to 100".
[[nodiscard]] std::string expected_text(const Field& field);

class RequestFields {
 public:
  struct Undeclared {
    std::string name;
    const Json* value;
  };

  /// Reads `body`, which must be an object and outlive the result. Errors (usage) begin with the field's name.
  static Result<RequestFields> read(FieldTables tables, const Json& body);

  /// The value of a declared field; null pointer: not given. The name is the program's own: an unknown one is a bug.
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool boolean(std::string_view name, bool standard = false) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;  ///< empty: not given
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;

  [[nodiscard]] const std::vector<Undeclared>& undeclared() const { return undeclared_; }
  /// Declared fields that were given a value that has no effect here.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  struct Given {
    const Field* field;
    const Json* value;
    std::size_t rank;  // of the name among the field's
  };
  Result<void> take(FieldTables tables, const std::string& key, const Json& value);

  FieldTables tables_;
  std::vector<Given> given_;
  std::vector<Undeclared> undeclared_;
  std::vector<std::string> ignored_;
};

}  // namespace plm
