// Python's two ways to fill values into a text: `text % values` and `text.format(values)`.
// Characters of the pattern and of texts filled in keep their marks; numbers and padding are input.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include "text/jinja/builtin.h"
#include "text/jinja/value.h"

namespace plm::jinja {

/// pattern % values: a tuple, a dict for named places, or one value.
[[nodiscard]] Value format_percent(Rendering& rendering, const MarkedText& pattern, const Value& values);

/// pattern.format(*arguments)
[[nodiscard]] Value format_braces(Rendering& rendering, const MarkedText& pattern, const Arguments& arguments);

}  // namespace plm::jinja
