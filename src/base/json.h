// JSON from strangers: nlohmann's parser behind limits (size, depth, duplicate keys, UTF-8), and output that never
// throws. Every JSON text that enters the program goes through `parse_json`.
// Tested by tests/base/test_json.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_forward.h"

namespace plm {

struct JsonLimits {
  std::size_t bytes = 64U << 20;
  std::size_t depth = 128;
  std::size_t keys = 1U << 14;  ///< of one object; an object is filled in time quadratic in its keys
};

/// Parses one JSON value. `name` is the object that the error names (a path, "request body").
/// Errors (bad_input): too large, too deep, too many keys, a key twice in one object, not JSON, not UTF-8.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits = {});

/// How deep arrays and objects of a JSON text are inside one another, found by counting brackets, before anything is
/// built: parsers of JSON recurse.
[[nodiscard]] std::size_t json_depth(std::string_view text);

/// Text of `value`; ill-formed UTF-8 inside becomes U+FFFD instead of an exception. `indent` < 0: one line.
[[nodiscard]] std::string json_text(const Json& value, int indent = -1);

}  // namespace plm
