// What the language brings along: filters, tests, methods and functions. Each is one row of a table: its name, what it
// takes, and the function; the arguments are put into their places before the function sees them.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

/// Arguments as a template gives them.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

/// A call of a builtin: what it is applied to (the filtered value, the object of a method) and its arguments.
class Call {
 public:
  Call(Rendering& of_rendering, std::string_view of, const Value& on)
      : rendering(of_rendering), name(of), subject(on) {}

  Rendering& rendering;
  std::string_view name;
  const Value& subject;
  Arguments rest;  ///< what a builtin that takes anything ("*") was given

  /// Puts `arguments` into the places that `parameters` names. Throws when one is missing, unknown or given twice.
  void bind(std::string_view parameters, Arguments arguments);

  /// The argument, or null when it was not given.
  [[nodiscard]] const Value* given(std::size_t place) const;
  /// The argument; must have been given or be required.
  [[nodiscard]] const Value& operator[](std::size_t place) const { return *places_[place]; }
  /// As `given`, but none counts as not given.
  [[nodiscard]] const Value* given_some(std::size_t place) const;

  // The argument as a type, with a default; throws when it is something else.
  [[nodiscard]] std::int64_t integer(std::size_t place, std::optional<std::int64_t> fallback = std::nullopt) const;
  [[nodiscard]] bool flag(std::size_t place, bool fallback) const;
  [[nodiscard]] const MarkedText& text(std::size_t place) const;

 private:
  std::vector<std::optional<Value>> places_;
};

struct Builtin {
  std::string_view name;
  /// "old new count?" names the places in order, those that may be left out with "?"; "*" takes anything.
  std::string_view parameters;
  Value (*run)(Call& call);
};

/// Calls `builtin`, a row of a table, on `subject`.
Value apply(const Builtin& builtin, Rendering& rendering, const Value& subject, Arguments arguments);

// The tables; null when there is no such name.
[[nodiscard]] const Builtin* find_filter(std::string_view name);
[[nodiscard]] const Builtin* find_test(std::string_view name);
[[nodiscard]] const Builtin* find_function(std::string_view name);
/// A method of the value's type (str, list, dict ...).
[[nodiscard]] const Builtin* find_method(const Value& subject, std::string_view name);
/// Whether Python has this method and the sandbox forbids it because it changes its object.
[[nodiscard]] bool is_forbidden_method(const Value& subject, std::string_view name);

/// The row of this name, or null.
[[nodiscard]] const Builtin* find_builtin(std::span<const Builtin> table, std::string_view name);

}  // namespace plm::jinja
