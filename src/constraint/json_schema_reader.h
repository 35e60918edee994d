// Checks the form of one schema's keywords and reads them. Every keyword of the three dialects is in one table here;
// what is not in it is unknown and becomes a warning.
// Tested by tests/constraint/test_json_schema_document.cpp.
#pragma once

#include "base/error.h"
#include "constraint/json_schema_document.h"

namespace plm {

/// The keywords of schema `id`. Errors: bad_input (a keyword of the wrong form, or one that is never supported).
[[nodiscard]] Result<Schema> read_schema(SchemaDocument& document, SchemaId id);

}  // namespace plm
