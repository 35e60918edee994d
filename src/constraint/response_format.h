// `response_format` of the OpenAI API as a grammar: {"type": "text"}, {"type": "json_object"},
// {"type": "json_schema", "json_schema": {"schema": ...}} and {"type": "structural_tag", ...}.
// Tested by tests/constraint/test_structural_tags.cpp.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/json_forward.h"
#include "constraint/grammar.h"
#include "constraint/json_schema.h"

namespace plm {

/// The grammar that a request asks for; nullopt: none (type text). Errors: bad_input (an unknown type, a member missing
/// or of the wrong form, a keyword that is not supported), unsatisfiable, no_room: as json_schema_grammar.
Result<std::optional<Grammar>> response_format_grammar(const Json& format, const JsonSchemaOptions& options = {},
                                                       JsonSchemaReport* report = nullptr);

}  // namespace plm
