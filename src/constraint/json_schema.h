// JSON Schema as a grammar: every text that the grammar has is valid under the schema, and every valid value has a
// text.
//
// The law: a keyword is enforced exactly, or the schema is refused with an error that names keyword and JSON pointer;
// leniently, the keyword is left out and said in `refused`. None is ever passed over in silence.
// What is written: members in the order of the schema (properties, then names that are only required; others anywhere
// between), declared names once, integers without fraction or exponent, constants in one spelling, white space where
// and as much as JsonSpace says. A name that is not declared may come twice, as JSON allows.
// Dialects: 2020-12, 2019-09, draft-07 (docs/explanation/constraints.md lists the keywords).
// Tested by tests/constraint/test_json_schema.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"
#include "constraint/json_schema_document.h"
#include "constraint/json_schema_text.h"
#include "constraint/limits.h"

namespace plm {

struct JsonSchemaOptions {
  JsonSpace space = JsonSpace::bounded;
  bool any_order = false;  ///< members in any order; at most 12 declared names in an object
  bool lenient = false;    ///< what cannot be enforced is left out and listed
  ConstraintLimits limits;
};

/// What became of the keywords of a schema.
struct JsonSchemaReport {
  std::vector<SchemaRemark> enforced;
  std::vector<SchemaRemark> refused;   ///< only leniently
  std::vector<SchemaRemark> warnings;  ///< unknown keywords and the like
  std::size_t rules = 0;               ///< of the grammar
};

/// The grammar of the JSON texts that fit the schema. `report` (may be null) is filled in where there is no error.
/// Errors: bad_input (no schema, or a keyword that is not supported), unsatisfiable (no value fits), no_room (a limit).
Result<Grammar> json_schema_grammar(std::string_view schema, const JsonSchemaOptions& options = {},
                                    JsonSchemaReport* report = nullptr);

/// As a part of a larger grammar, such as the arguments of a tool call.
Result<Part> json_schema_part(GrammarBuilder& builder, std::string_view schema, const JsonSchemaOptions& options = {},
                              JsonSchemaReport* report = nullptr);

}  // namespace plm
