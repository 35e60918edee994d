// What operators do to values, as Python does it: comparison, membership, arithmetic.
// Integers have 64 bits; what does not fit is an error. Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <string_view>

#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

[[nodiscard]] bool is_equal(Rendering& rendering, const Value& left, const Value& right);
/// Throws when the two have no order.
[[nodiscard]] bool is_less(Rendering& rendering, const Value& left, const Value& right);
/// left `sign` right, for == != < <= > >= in, not in.
[[nodiscard]] bool compares(Rendering& rendering, std::string_view sign, const Value& left, const Value& right);
[[nodiscard]] bool contains(Rendering& rendering, const Value& container, const Value& item);
/// left `sign` right, for + - * / // % **.
[[nodiscard]] Value arithmetic(Rendering& rendering, std::string_view sign, const Value& left, const Value& right);
[[nodiscard]] Value negated(const Value& operand);

}  // namespace plm::jinja
