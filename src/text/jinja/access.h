// Reaching into values: attributes, items, slices, iteration.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/rendering.h"
#include "text/jinja/value.h"

namespace plm::jinja {

/// value.name: an attribute, then an item of that name, else undefined.
[[nodiscard]] Value attribute(Rendering& rendering, const Value& value, std::string_view name);
/// value[key]: an item, then, for a str, an attribute of that name, else undefined.
[[nodiscard]] Value subscript(Rendering& rendering, const Value& value, const Value& key);
/// value[start:stop:step], each of them perhaps none. Throws when the value has no slices.
[[nodiscard]] Value slice(Rendering& rendering, const Value& value, const Value& start, const Value& stop,
                          const Value& step);

/// What a loop over the value visits: items, keys, characters. A generator is empty afterwards.
/// Throws when it cannot be iterated.
[[nodiscard]] std::vector<Value> items_of(Rendering& rendering, const Value& value);
[[nodiscard]] bool is_iterable(const Value& value);
/// Python's len(); nothing when the value has none.
[[nodiscard]] std::optional<std::size_t> length_of(Rendering& rendering, const Value& value);

/// What `value.name` is when it is not there.
[[nodiscard]] Value missing_attribute(const Value& value, std::string_view name);

}  // namespace plm::jinja
