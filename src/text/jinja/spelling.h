// Values as text: as a template prints them (Python's str), as Python would write them in source (repr), and as JSON.
// Only a str keeps its marks when it is printed; every other spelling is input.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

/// str(value)
[[nodiscard]] MarkedText printed(Rendering& rendering, const Value& value);
/// repr(value)
[[nodiscard]] std::string representation(Rendering& rendering, const Value& value);
/// repr of a str.
[[nodiscard]] std::string quoted(std::string_view text);
/// repr of a float: the shortest digits that read back the same.
[[nodiscard]] std::string real_spelling(double value);

struct JsonStyle {
  bool ascii_only = false;
  bool sorted = false;
  std::optional<std::string> indent;  ///< of one level; unset: all on one line
  std::string item_separator, key_separator;
};
/// Python's json.dumps. Throws for what JSON has no form for.
[[nodiscard]] std::string json_spelling(Rendering& rendering, const Value& value, const JsonStyle& style);

}  // namespace plm::jinja
