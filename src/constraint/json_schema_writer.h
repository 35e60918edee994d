// Writes the grammar of a schema: a rule for every set of schemas that a value must fit, made when it is first needed,
// so that recursion in the schema is recursion between rules.
// Tested by tests/constraint/test_json_schema.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/json_schema.h"
#include "constraint/json_schema_logic.h"
#include "constraint/json_schema_number.h"
#include "constraint/json_schema_rules.h"
#include "constraint/json_schema_string.h"
#include "constraint/json_schema_text.h"

namespace plm {

class SchemaWriter {
 public:
  SchemaWriter(GrammarBuilder& builder, SchemaLogic& logic, const JsonSchemaOptions& options);

  /// The rule of all texts of values that fit `terms`, with every rule that it needs.
  Result<RuleId> write(const SchemaTerms& terms);

  // For the writers of arrays and objects.
  /// The texts of values that fit `terms`; rules that are still to be written are remembered.
  Result<Part> value(const SchemaTerms& terms);
  /// The values that fit `terms`, as texts, where they are at most `most` and none of them an array or object.
  Result<std::optional<std::vector<std::string>>> listed(const SchemaTerms& terms, std::size_t most);
  /// A rule for one state of an automaton of arrays or objects. Errors: no_room.
  Result<RuleId> declare(SchemaId origin, std::string_view keyword);
  Result<bool> is_nothing(Regular regular, SchemaId origin, std::string_view keyword);

  GrammarBuilder& builder() { return builder_; }
  RegularStore& store() { return builder_.store(); }
  SchemaLogic& logic() { return logic_; }
  JsonText& text() { return text_; }
  SchemaStrings& strings() { return strings_; }
  [[nodiscard]] const JsonSchemaOptions& options() const { return options_; }

 private:
  struct Waiting {
    RuleId rule{};
    std::vector<ValueRule> alternatives;
    SchemaId origin = 0;
  };

  Result<Part> scalars(const ValueRule& rule);
  Result<Part> alternative(const ValueRule& rule, SchemaId origin);

  GrammarBuilder& builder_;
  SchemaLogic& logic_;
  const JsonSchemaOptions& options_;
  JsonText text_;
  SchemaStrings strings_;
  SchemaNumbers numbers_;
  std::map<SchemaTerms, Part> known_;
  std::deque<Waiting> waiting_;
  std::size_t rules_ = 0;
};

/// The texts of the arrays that a rule allows (json_schema_array.cpp).
Result<Part> write_array(SchemaWriter& writer, const ArrayRule& rule, SchemaId origin);
/// The texts of the objects that a rule allows (json_schema_object.cpp).
Result<Part> write_object(SchemaWriter& writer, const ObjectRule& rule, SchemaId origin);

}  // namespace plm
