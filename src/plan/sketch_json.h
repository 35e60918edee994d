// A network described by nothing but its sizes: one JSON object with the kinds of layers under a letter each, and a
// text that has the letter of every layer. For models whose own files this version does not read, and for ones that are
// only being thought about.
// Tested by tests/plan/test_sketch_json.cpp and tests/fuzz/fuzz_sketch.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_forward.h"
#include "plan/model_sketch.h"

namespace plm {

/// Whether the object looks like such a description, and not like config.json.
[[nodiscard]] bool is_sketch_json(const Json& object);

/// Errors (bad_input) name file and field: a field that is missing, of another type or out of range, a letter without a
/// kind.
[[nodiscard]] Result<ModelSketch> parse_sketch_json(const Json& object, const std::string& path);

}  // namespace plm
