// Filters over numbers and values of any kind. Declared in filters.h. Tested by tests/text/jinja/test_conformance.cpp.
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/number_text.h"
#include "text/jinja/operators.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"

namespace plm::jinja {
namespace {

Value absolute(Call& call) {
  call.subject.check_defined();
  if (const auto whole = call.subject.integer()) return *whole < 0 ? negated(call.subject) : Value(*whole);
  if (const double* real = call.subject.real()) return Value(std::abs(*real));
  refuse("abs needs a number, found a {}", call.subject.type_name());
}

Value attr(Call& call) {
  const std::string& name = call.text(0).text();
  if (call.subject.dictionary() != nullptr && find_method(call.subject, name) == nullptr) {
    return missing_attribute(call.subject, name);  // attributes only, no items
  }
  return attribute(call.rendering, call.subject, name);
}

Value fallback(Call& call) {
  const bool is_missing = call.subject.is_undefined() || (call.flag(1, false) && !call.subject.is_true());
  if (!is_missing) return call.subject;
  return call.given(0) != nullptr ? call[0] : Value(MarkedText());
}

// A real number cut to a whole one; nothing when it does not fit.
std::optional<std::int64_t> truncated(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Value to_integer(Call& call) {
  call.subject.check_defined();
  const Value default_value = call.given(0) != nullptr ? call[0] : Value(std::int64_t{0});
  if (const auto whole = call.subject.integer()) return Value(*whole);
  std::optional<double> real = call.subject.number();
  if (const MarkedText* text = call.subject.text()) {
    call.rendering.spend_text(text->size());
    if (const auto whole = integer_of(text->text(), call.integer(1, 10))) return Value(*whole);
    real = real_of(text->text());
  }
  const auto whole = real ? truncated(*real) : std::nullopt;
  return whole ? Value(*whole) : default_value;
}

Value to_real(Call& call) {
  call.subject.check_defined();
  if (const auto number = call.subject.number()) return Value(*number);
  if (const MarkedText* text = call.subject.text()) {
    call.rendering.spend_text(text->size());
    if (const auto real = real_of(text->text())) return Value(*real);
  }
  return call.given(0) != nullptr ? call[0] : Value(0.0);
}

// Python's round: to the nearest, halves to even, by the decimal digits of the value.
double rounded(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < -300) return 0;
  if (digits >= 0) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    double result = value;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return result;
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / scale) * scale;
}

Value round_filter(Call& call) {
  call.subject.check_defined();
  const auto number = call.subject.number();
  if (!number) refuse("round needs a number, found a {}", call.subject.type_name());
  const std::int64_t digits = call.integer(0, 0);
  const std::string method = call.given(1) != nullptr ? call.text(1).text() : "common";
  if (method != "common" && method != "ceil" && method != "floor") refuse("round's method is common, ceil or floor");
  if (method == "common") {
    if (call.subject.integer() && digits >= 0) return Value(*call.subject.integer());
    if (call.subject.integer()) return Value(truncated(rounded(*number, digits)).value_or(0));
    return Value(rounded(*number, digits));
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = *number * scale;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  const bool stays_whole = call.subject.integer() && digits < 0 && scale == 0;
  return Value(stays_whole ? 0.0 : whole / scale);
}

// indent=2 or indent="  "
std::optional<std::string> indention(Call& call, std::size_t place) {
  if (call.given_some(place) == nullptr) return std::nullopt;
  if (const MarkedText* text = call[place].text()) return text->text();
  const std::int64_t width = std::max<std::int64_t>(call.integer(place), 0);
  if (width > 1000) refuse("tojson indents by at most 1000");
  return std::string(static_cast<std::size_t>(width), ' ');
}

Value tojson(Call& call) {
  JsonStyle style;
  style.ascii_only = call.flag(0, false);
  style.indent = indention(call, 1);
  style.item_separator = style.indent ? "," : ", ";
  style.key_separator = ": ";
  if (call.given_some(2) != nullptr) {
    const std::vector<Value> separators = items_of(call.rendering, call[2]);
    if (separators.size() != 2 || separators[0].text() == nullptr || separators[1].text() == nullptr) {
      refuse("tojson's separators are two texts");
    }
    style.item_separator = separators[0].text()->text();
    style.key_separator = separators[1].text()->text();
  }
  style.sorted = call.flag(3, false);
  return call.rendering.made({json_spelling(call.rendering, call.subject, style), Origin::input});
}

Value pprint(Call& call) { return call.rendering.made({representation(call.rendering, call.subject), Origin::input}); }

Value no_random(Call& /*call*/) { refuse("random is not supported: a conversation must always render the same"); }

Value filesizeformat(Call& call) {
  constexpr std::array<std::string_view, 8> kUnits = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
  const auto number = call.subject.text() != nullptr ? real_of(call.subject.text()->text()) : call.subject.number();
  if (!number) refuse("filesizeformat needs a number, found a {}", call.subject.type_name());
  const bool is_binary = call.flag(0, false);
  const double base = is_binary ? 1024 : 1000;
  if (*number == 1) return Value::input("1 Byte");
  if (*number < base) return Value::input(fmt::format("{:.0f} Bytes", std::trunc(*number)));
  double unit = base;
  std::size_t place = 0;
  while (place + 1 < kUnits.size() && *number >= unit * base) {
    unit *= base;
    ++place;
  }
  const std::string_view prefix = is_binary && place == 0 ? "K" : kUnits[place];
  return Value::input(fmt::format("{:.1f} {}{}", *number / unit, prefix, is_binary ? "iB" : "B"));
}

constexpr std::array<Builtin, 11> kFilters = {{
    {"abs", "", absolute},
    {"attr", "name", attr},
    {"d", "default_value? boolean?", fallback},
    {"default", "default_value? boolean?", fallback},
    {"filesizeformat", "binary?", filesizeformat},
    {"float", "default?", to_real},
    {"int", "default? base?", to_integer},
    {"pprint", "", pprint},
    {"random", "", no_random},
    {"round", "precision? method?", round_filter},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
}};

}  // namespace

std::span<const Builtin> value_filters() { return kFilters; }

}  // namespace plm::jinja
