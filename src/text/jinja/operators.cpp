#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/format.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

enum class Order { less, equal, greater, none };

Order order_of_numbers(const Value& left, const Value& right) {
  const auto a = left.integer(), b = right.integer();
  if (a && b) return *a < *b ? Order::less : *a > *b ? Order::greater : Order::equal;
  const double x = *left.number(), y = *right.number();
  return x < y ? Order::less : x > y ? Order::greater : x == y ? Order::equal : Order::none;
}

bool is_ordered_sequence(const Value& value) {
  const Sequence* sequence = value.sequence();
  return sequence != nullptr && (sequence->kind == Sequence::Kind::list || sequence->kind == Sequence::Kind::tuple);
}

[[noreturn]] void refuse_operands(std::string_view sign, const Value& left, const Value& right) {
  left.check_defined();
  right.check_defined();
  refuse("'{}' does not go with a {} and a {}", sign, left.type_name(), right.type_name());
}

bool is_equal_dictionary(Rendering& rendering, const Dictionary& left, const Dictionary& right) {
  if (left.size() != right.size()) return false;
  return std::all_of(left.entries().begin(), left.entries().end(), [&](const Dictionary::Entry& entry) {
    const Value* other = find_item(rendering, right, entry.first);
    return other != nullptr && is_equal(rendering, entry.second, *other);
  });
}

bool is_equal_sequence(Rendering& rendering, const Sequence& left, const Sequence& right) {
  if (left.kind != right.kind || left.kind == Sequence::Kind::generator || left.items.size() != right.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    if (!is_equal(rendering, left.items[i], right.items[i])) return false;
  }
  return true;
}

[[noreturn]] void refuse_overflow(std::string_view sign) {
  refuse("the result of '{}' does not fit into 64 bits", sign);
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) refuse_overflow("**");
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) refuse_overflow("**");
  }
}

Value integer_arithmetic(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if ((sign == "/" || sign == "//" || sign == "%") && b == 0) refuse("division by zero");
  if (sign == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  if (sign == "//" || sign == "%") {
    if (b == -1) {
      if (sign == "%") return Value(std::int64_t{0});
      if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) refuse_overflow(sign);
      return Value(result);
    }
    const std::int64_t quotient = floor_quotient(a, b);
    return Value(sign == "//" ? quotient : a - quotient * b);
  }
  if (sign == "**") {
    if (b >= 0) return Value(integer_power(a, b));
    if (a == 0) refuse("0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  const bool overflows = sign == "+"   ? __builtin_add_overflow(a, b, &result)
                         : sign == "-" ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
  if (overflows) refuse_overflow(sign);
  return Value(result);
}

// Python's remainder: of the sign of the divisor.
double real_remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// Python's floor division: the quotient that goes with the remainder.
double real_floor_quotient(double a, double b) {
  const double quotient = (a - real_remainder(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Value real_arithmetic(std::string_view sign, double a, double b) {
  if ((sign == "/" || sign == "//" || sign == "%") && b == 0) refuse("division by zero");
  if (sign == "+") return Value(a + b);
  if (sign == "-") return Value(a - b);
  if (sign == "*") return Value(a * b);
  if (sign == "/") return Value(a / b);
  if (sign == "//") return Value(real_floor_quotient(a, b));
  if (sign == "%") return Value(real_remainder(a, b));
  if (a == 0 && b < 0) refuse("0 cannot be raised to a negative power");
  if (a < 0 && std::trunc(b) != b) refuse("a negative number cannot be raised to a fraction");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) refuse("the result of '**' is too large");
  return Value(result);
}

std::size_t times(std::int64_t count, std::size_t size) {
  if (count <= 0) return 0;
  std::size_t total = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), size, &total))
    return std::numeric_limits<std::size_t>::max();
  return total;
}

// A text, list or tuple `count` times over.
Value repeated(Rendering& rendering, const Value& value, std::int64_t count) {
  if (const MarkedText* text = value.text()) {
    rendering.spend_text(times(count, text->size()));
    rendering.spend_steps(times(count, 1));
    MarkedText result;
    for (std::int64_t i = 0; i < count && !text->empty(); ++i) result.append(*text);
    return Value(std::move(result));
  }
  const Sequence& sequence = *value.sequence();
  rendering.spend_steps(times(count, sequence.items.size() + 1));
  std::vector<Value> items;
  for (std::int64_t i = 0; i < count && !sequence.items.empty(); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return make_sequence(sequence.kind, std::move(items));
}

Value added(Rendering& rendering, const Value& left, const Value& right) {
  if (left.text() != nullptr && right.text() != nullptr) {
    MarkedText joined;
    rendering.spend_text(left.text()->size() + right.text()->size());
    joined.reserve(left.text()->size() + right.text()->size());
    joined.append(*left.text());
    joined.append(*right.text());
    return rendering.made(std::move(joined));
  }
  if (is_ordered_sequence(left) && is_ordered_sequence(right) && left.sequence()->kind == right.sequence()->kind) {
    rendering.spend_steps(left.sequence()->items.size() + right.sequence()->items.size());
    std::vector<Value> items = left.sequence()->items;
    items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
    return make_sequence(left.sequence()->kind, std::move(items));
  }
  refuse_operands("+", left, right);
}

}  // namespace

bool is_equal(Rendering& rendering, const Value& left, const Value& right) {
  rendering.spend_steps(1);
  if (left.number() && right.number()) return order_of_numbers(left, right) == Order::equal;
  if (left.text() != nullptr && right.text() != nullptr) {
    if (left.text()->size() != right.text()->size()) return false;
    rendering.spend_text(left.text()->size());
    return left.text()->text() == right.text()->text();
  }
  if (left.sequence() != nullptr && right.sequence() != nullptr) {
    return left.sequence() == right.sequence() || is_equal_sequence(rendering, *left.sequence(), *right.sequence());
  }
  if (left.dictionary() != nullptr && right.dictionary() != nullptr) {
    return left.dictionary() == right.dictionary() ||
           is_equal_dictionary(rendering, *left.dictionary(), *right.dictionary());
  }
  return left.is_same(right);
}

bool is_less(Rendering& rendering, const Value& left, const Value& right) {
  rendering.spend_steps(1);
  if (left.number() && right.number()) return order_of_numbers(left, right) == Order::less;
  if (left.text() != nullptr && right.text() != nullptr) {
    rendering.spend_text(std::min(left.text()->size(), right.text()->size()));
    return left.text()->text() < right.text()->text();  // the order of UTF-8 is that of code points
  }
  if (is_ordered_sequence(left) && is_ordered_sequence(right) && left.sequence()->kind == right.sequence()->kind) {
    const auto& a = left.sequence()->items;
    const auto& b = right.sequence()->items;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!is_equal(rendering, a[i], b[i])) return is_less(rendering, a[i], b[i]);
    }
    return a.size() < b.size();
  }
  refuse_operands("<", left, right);
}

bool compares(Rendering& rendering, std::string_view sign, const Value& left, const Value& right) {
  if (sign == "==") return is_equal(rendering, left, right);
  if (sign == "!=") return !is_equal(rendering, left, right);
  if (sign == "in") return contains(rendering, right, left);
  if (sign == "not in") return !contains(rendering, right, left);
  if (left.number() && right.number()) {
    const Order order = order_of_numbers(left, right);
    if (sign == "<") return order == Order::less;
    if (sign == ">") return order == Order::greater;
    return order == Order::equal || order == (sign == "<=" ? Order::less : Order::greater);
  }
  const bool has_order =
      (left.text() != nullptr && right.text() != nullptr) ||
      (is_ordered_sequence(left) && is_ordered_sequence(right) && left.sequence()->kind == right.sequence()->kind);
  if (!has_order) refuse_operands(sign, left, right);
  if (sign == "<") return is_less(rendering, left, right);
  if (sign == ">") return is_less(rendering, right, left);
  return sign == "<=" ? !is_less(rendering, right, left) : !is_less(rendering, left, right);
}

const Value* find_item(Rendering& rendering, const Dictionary& dictionary, const Value& key) {
  const std::string spelled = key_spelling(key);
  rendering.spend_text(spelled.size());
  return dictionary.find_spelled(spelled);
}

bool contains(Rendering& rendering, const Value& container, const Value& item) {
  if (const MarkedText* text = container.text()) {
    item.check_defined();
    if (item.text() == nullptr) refuse("'in' a str looks for a str, not for a {}", item.type_name());
    rendering.spend_text(text->size() + item.text()->size());
    return find_text(text->text(), item.text()->text()) != std::string_view::npos;
  }
  if (const Dictionary* dictionary = container.dictionary()) return find_item(rendering, *dictionary, item) != nullptr;
  if (Sequence* sequence = container.sequence()) {
    const bool found = std::any_of(sequence->items.begin(), sequence->items.end(),
                                   [&](const Value& candidate) { return is_equal(rendering, candidate, item); });
    if (sequence->kind == Sequence::Kind::generator) sequence->items.clear();
    return found;
  }
  if (container.is_undefined()) return false;
  refuse("'in' needs a str, a list or a dict on its right, found a {}", container.type_name());
}

Value arithmetic(Rendering& rendering, std::string_view sign, const Value& left, const Value& right) {
  const auto a = left.integer(), b = right.integer();
  if (a && b) return integer_arithmetic(sign, *a, *b);
  if (left.number() && right.number()) return real_arithmetic(sign, *left.number(), *right.number());
  if (sign == "%" && left.text() != nullptr) return format_percent(rendering, *left.text(), right);
  if (sign == "*") {
    const bool left_repeats = left.text() != nullptr || is_ordered_sequence(left);
    const bool right_repeats = right.text() != nullptr || is_ordered_sequence(right);
    if (left_repeats && b) return repeated(rendering, left, *b);
    if (right_repeats && a) return repeated(rendering, right, *a);
  }
  if (sign == "+") return added(rendering, left, right);
  refuse_operands(sign, left, right);
}

std::vector<std::size_t> stable_order(std::size_t count, const std::function<bool(std::size_t, std::size_t)>& less) {
  std::vector<std::size_t> order(count), merged(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  const auto place = [](std::vector<std::size_t>& numbers, std::size_t at) {
    return numbers.begin() + static_cast<std::ptrdiff_t>(at);
  };
  for (std::size_t width = 1; width < count; width *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      std::merge(place(order, begin), place(order, middle), place(order, middle), place(order, end),
                 place(merged, begin), less);
    }
    order.swap(merged);
  }
  return order;
}

Value negated(const Value& operand) {
  operand.check_defined();
  if (const auto whole = operand.integer()) {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, *whole, &result)) refuse_overflow("-");
    return Value(result);
  }
  if (const double* real = operand.real()) return Value(-*real);
  refuse("'-' does not go with a {}", operand.type_name());
}

}  // namespace plm::jinja
