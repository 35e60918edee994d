// What operators do to values, as Python does it: comparison, membership, arithmetic.
// Integers have 64 bits; what does not fit is an error. Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

[[nodiscard]] bool is_equal(Rendering& rendering, const Value& left, const Value& right);
/// Throws when the two have no order.
[[nodiscard]] bool is_less(Rendering& rendering, const Value& left, const Value& right);
/// left `sign` right, for == != < <= > >= in, not in.
[[nodiscard]] bool compares(Rendering& rendering, std::string_view sign, const Value& left, const Value& right);
/// The dictionary's value for the key, or null; counts the work of the look-up.
[[nodiscard]] const Value* find_item(Rendering& rendering, const Dictionary& dictionary, const Value& key);
[[nodiscard]] bool contains(Rendering& rendering, const Value& container, const Value& item);
/// left `sign` right, for + - * / // % **.
[[nodiscard]] Value arithmetic(Rendering& rendering, std::string_view sign, const Value& left, const Value& right);
/// The numbers 0 to count - 1 sorted by `less`, equal ones in their order. Whatever `less` answers, even what is no
/// order (nan), the result holds each number once; the standard's sorts promise no such thing.
[[nodiscard]] std::vector<std::size_t> stable_order(std::size_t count,
                                                    const std::function<bool(std::size_t, std::size_t)>& less);
[[nodiscard]] Value negated(const Value& operand);

}  // namespace plm::jinja
