// Values for a list of parameters: from flags, JSON or code, checked against what the definition says.
// One place for "unknown name", "not a number", "out of range, allowed is". Tested by tests/base/test_settings.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/definition.h"
#include "base/error.h"
#include "base/json_forward.h"

namespace plm {

/// Splits "a, b, c" as used for aliases and choices.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view list);

/// Whether `name` is the definition's name or one of its aliases; dashes and underscores are equal.
[[nodiscard]] bool is_named(std::string_view name, std::string_view own_name, std::string_view aliases);

/// Range or choices of a parameter in words: "0 to 1", "at least 0", "f32, f16"; empty when anything goes.
[[nodiscard]] std::string allowed_text(const Parameter& parameter);

/// A default or neutral value in words; empty for "not set".
[[nodiscard]] std::string value_text(const Value& value);

class Settings {
 public:
  /// The parameters must outlive the settings (definitions are static).
  explicit Settings(std::span<const Parameter> parameters) : parameters_(parameters) {}

  /// Sets by name or alias from the text of a flag. Errors (usage): unknown name, wrong type, out of range.
  Result<void> set_text(std::string_view name, std::string_view text);
  /// The same from a JSON value; a number given as text is refused.
  Result<void> set_json(std::string_view name, const Json& value);

  /// Whether the value was given, as opposed to being the default.
  [[nodiscard]] bool was_given(std::string_view name) const { return given_.contains(std::string(name)); }
  /// Whether there is a value at all, given or default.
  [[nodiscard]] bool has(std::string_view name) const;

  // Typed reads of the given value, else the default. The name and type are the program's own: a mismatch is a bug.
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;

  /// Every value that is set or has a default, in the order of declaration.
  [[nodiscard]] Json as_json() const;

  [[nodiscard]] std::span<const Parameter> parameters() const { return parameters_; }
  [[nodiscard]] const Parameter* find(std::string_view name_or_alias) const;

 private:
  using Stored = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
  Result<void> store(const Parameter& parameter, Stored value);
  [[nodiscard]] Stored read(std::string_view name) const;

  std::span<const Parameter> parameters_;
  std::map<std::string, Stored> given_;
};

}  // namespace plm
