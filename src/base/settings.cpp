#include "base/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x == '-' ? '_' : x) == (y == '-' ? '_' : y); });
}

// Whole-string number, or nothing: "12abc", "" and " 1" are not numbers.
template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

std::string_view type_name(ParameterType type) {
  switch (type) {
    case ParameterType::boolean: return "true or false";
    case ParameterType::integer: return "a whole number";
    case ParameterType::real: return "a number";
    case ParameterType::text: return "text";
    case ParameterType::choice: return "one of its choices";
  }
  return "";
}

tl::unexpected<Error> wrong_type(const Parameter& parameter, std::string_view found) {
  const std::string allowed = allowed_text(parameter);
  return fail(ErrorKind::usage, "{}: found \"{}\", expected {}{}{}", parameter.name, printable(found, 80),
              type_name(parameter.type), allowed.empty() ? "" : ": ", allowed);
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    items.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!list.empty() && list.front() == ' ') list.remove_prefix(1);
  }
  return items;
}

bool is_named(std::string_view name, std::string_view own_name, std::string_view aliases) {
  if (equal_names(name, own_name)) return true;
  const auto names = split_list(aliases);
  return std::any_of(names.begin(), names.end(), [&](std::string_view alias) { return equal_names(name, alias); });
}

std::string allowed_text(const Parameter& parameter) {
  if (parameter.type == ParameterType::choice) return std::string(parameter.choices);
  const bool has_min = std::isfinite(parameter.min);
  const bool has_max = std::isfinite(parameter.max);
  if (has_min && has_max) return fmt::format("{} to {}", parameter.min, parameter.max);
  if (has_min) return fmt::format("at least {}", parameter.min);
  if (has_max) return fmt::format("at most {}", parameter.max);
  return {};
}

std::string value_text(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(std::string_view s) const { return std::string(s); }
  };
  return std::visit(Writer{}, value);
}

const Parameter* Settings::find(std::string_view name_or_alias) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& parameter) {
    return is_named(name_or_alias, parameter.name, parameter.aliases);
  });
  return found == parameters_.end() ? nullptr : &*found;
}

Result<void> Settings::set_text(std::string_view name, std::string_view text) {
  const Parameter* parameter = find(name);
  if (parameter == nullptr) return fail(ErrorKind::usage, "{}: unknown name", printable(name, 80));
  switch (parameter->type) {
    case ParameterType::boolean:
      if (text == "true" || text == "1" || text == "on") return store(*parameter, true);
      if (text == "false" || text == "0" || text == "off") return store(*parameter, false);
      return wrong_type(*parameter, text);
    case ParameterType::integer: {
      std::int64_t number = 0;
      if (!parse_whole(text, number)) return wrong_type(*parameter, text);
      return store(*parameter, number);
    }
    case ParameterType::real: {
      double number = 0;
      if (!parse_whole(text, number)) return wrong_type(*parameter, text);
      return store(*parameter, number);
    }
    case ParameterType::text:
    case ParameterType::choice: return store(*parameter, std::string(text));
  }
  return {};
}

Result<void> Settings::set_json(std::string_view name, const Json& value) {
  const Parameter* parameter = find(name);
  if (parameter == nullptr) return fail(ErrorKind::usage, "{}: unknown name", printable(name, 80));
  const ParameterType type = parameter->type;
  if (type == ParameterType::boolean && value.is_boolean()) return store(*parameter, value.get<bool>());
  if (type == ParameterType::real && value.is_number()) return store(*parameter, value.get<double>());
  if ((type == ParameterType::text || type == ParameterType::choice) && value.is_string()) {
    return store(*parameter, value.get<std::string>());
  }
  if (type == ParameterType::integer && value.is_number_unsigned() &&
      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return store(*parameter, static_cast<std::int64_t>(value.get<std::uint64_t>()));
  }
  if (type == ParameterType::integer && value.is_number_integer() && !value.is_number_unsigned()) {
    return store(*parameter, value.get<std::int64_t>());
  }
  return wrong_type(*parameter, json_text(value));
}

Result<void> Settings::store(const Parameter& parameter, Stored value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  bool in_range = true;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*whole);
    in_range = number >= parameter.min && number <= parameter.max;
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
    in_range = !std::isnan(number) && number >= parameter.min && number <= parameter.max;
  } else if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !parameter.choices.empty()) {
    const auto choices = split_list(parameter.choices);
    if (std::find(choices.begin(), choices.end(), *text) == choices.end()) return wrong_type(parameter, *text);
  }
  if (!in_range) {
    return fail(ErrorKind::usage, "{}: {} is out of range, allowed is {}", parameter.name, number,
                allowed_text(parameter));
  }
  given_[std::string(parameter.name)] = std::move(value);
  return {};
}

Settings::Stored Settings::read(std::string_view name) const {
  if (const auto given = given_.find(std::string(name)); given != given_.end()) return given->second;
  const Parameter* parameter = find(name);
  PLM_CHECK(parameter != nullptr);
  struct Convert {
    Stored operator()(std::monostate) const { return {}; }
    Stored operator()(bool b) const { return b; }
    Stored operator()(std::int64_t n) const { return n; }
    Stored operator()(double x) const { return x; }
    Stored operator()(std::string_view s) const { return std::string(s); }
  };
  return std::visit(Convert{}, parameter->standard);
}

bool Settings::has(std::string_view name) const { return !std::holds_alternative<std::monostate>(read(name)); }

bool Settings::boolean(std::string_view name) const {
  const Stored value = read(name);
  return std::holds_alternative<bool>(value) && std::get<bool>(value);
}

std::int64_t Settings::integer(std::string_view name) const {
  const Stored value = read(name);
  PLM_CHECK(std::holds_alternative<std::int64_t>(value));
  return std::get<std::int64_t>(value);
}

double Settings::real(std::string_view name) const {
  const Stored value = read(name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  PLM_CHECK(std::holds_alternative<double>(value));
  return std::get<double>(value);
}

std::string Settings::text(std::string_view name) const {
  const Stored value = read(name);
  if (std::holds_alternative<std::monostate>(value)) return {};
  PLM_CHECK(std::holds_alternative<std::string>(value));
  return std::get<std::string>(value);
}

Json Settings::as_json() const {
  Json object = Json::object();
  for (const Parameter& parameter : parameters_) {
    std::visit(
        [&](const auto& value) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
            object[std::string(parameter.name)] = value;
          }
        },
        read(parameter.name));
  }
  return object;
}

}  // namespace plm
