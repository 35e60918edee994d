// What everything registered has in common: a name, a summary and parameters, declared once.
//
// A sampler, decoder, architecture, storage type or command is one file with one constant that holds a Definition.
// Flags, JSON fields, their validation, help, completion and reference pages are derived from it and never typed again
// (DESIGN section 5). All members are literal, so definitions need no static initialiser.
// Tested by tests/base/test_settings.cpp and tests/contract/.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

namespace plm {

enum class ParameterType { boolean, integer, real, text, choice };

/// What a parameter acts on, in the datasheet's words: the weights, the pipeline, inference, or the back end.
enum class Tag { model, pipe, inf, backend };

/// A value of a parameter; monostate means "not set".
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string_view>;

/// One thing that a person can set.
struct Parameter {
  std::string_view name;          ///< snake_case; the flag is the same with dashes
  std::string_view aliases = {};  ///< other names, separated by ", "; one letter means a short flag
  std::string_view summary = {};  ///< one line for the help
  ParameterType type = ParameterType::real;
  Value standard = {};                                    ///< the default; monostate: none, the command decides
  Value neutral = {};                                     ///< the value that changes nothing; monostate: there is none
  double min = -std::numeric_limits<double>::infinity();  ///< inclusive, for numbers
  double max = std::numeric_limits<double>::infinity();   ///< inclusive, for numbers
  std::string_view unit = {};     ///< "tokens", "ms", ...; for text the placeholder in the help ("FILE")
  std::string_view choices = {};  ///< for ParameterType::choice, separated by ", "
  Tag tag = Tag::inf;
};

/// The head of every registry entry.
struct Definition {
  std::string_view name;
  std::string_view aliases = {};  ///< separated by ", "
  std::string_view summary = {};  ///< one line
  std::string_view source = {};   ///< paper or datasheet section
  std::span<const Parameter> parameters = {};
};

}  // namespace plm
