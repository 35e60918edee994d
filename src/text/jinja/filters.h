// The tables of filters, by what they work on. Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/jinja/builtin.h"

namespace plm::jinja {

[[nodiscard]] std::span<const Builtin> text_filters();
[[nodiscard]] std::span<const Builtin> sequence_filters();
[[nodiscard]] std::span<const Builtin> value_filters();

/// The attribute "a.b.0" of a value, as map(attribute=...) and its like take it: parts with dots, digits are indices.
[[nodiscard]] Value attribute_path(Rendering& rendering, Value value, const Value& path,
                                   const Value* fallback = nullptr);

}  // namespace plm::jinja
