#include "serve/field.h"

#include <algorithm>
#include <cmath>

#include "base/settings.h"
#include "base/utf8.h"

namespace plm {
namespace {

// 0: the field's own name; 1, 2, ...: an alias; none: another field.
std::optional<std::size_t> rank_of(const Field& field, std::string_view key) {
  if (key == field.name) return 0;
  if (field.aliases.find(key) == std::string_view::npos) return std::nullopt;  // most keys end here
  const auto aliases = split_list(field.aliases);
  const auto found = std::ranges::find(aliases, key);
  if (found == aliases.end()) return std::nullopt;
  return static_cast<std::size_t>(found - aliases.begin()) + 1;
}

bool is_whole(const Json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  }
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::abs(number) <= 0x1p53 && number == std::trunc(number);
}

std::int64_t whole(const Json& value) {
  return value.is_number_float() ? static_cast<std::int64_t>(value.get<double>()) : value.get<std::int64_t>();
}

bool is_text_list(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& text) { return text.is_string(); });
}

bool has_type(const Field& field, const Json& value) {
  switch (field.type) {
    case FieldType::boolean: return value.is_boolean() || (is_whole(value) && (whole(value) == 0 || whole(value) == 1));
    case FieldType::integer: return is_whole(value);
    case FieldType::real: return value.is_number() && std::isfinite(value.get<double>());
    case FieldType::text: return value.is_string();
    case FieldType::texts: return value.is_string() || is_text_list(value);
    case FieldType::object: return value.is_object();
    case FieldType::array: return value.is_array();
    case FieldType::any: return true;
  }
  return false;
}

bool is_in_range(const Field& field, const Json& value) {
  if (field.type != FieldType::integer && field.type != FieldType::real) return true;
  const double number = value.get<double>();
  return number >= field.min && number <= field.max;
}

bool is_neutral(const Field& field, const Json& value) {
  if (field.neutral.empty()) return false;
  const auto values = parse_json(field.neutral, field.name);
  PLM_CHECK(values.has_value() && values->is_array());
  return std::ranges::any_of(*values, [&](const Json& neutral) { return neutral == value; });
}

}  // namespace

std::string expected_text(const Field& field) {
  const auto ranged = [&](std::string_view what) {
    const bool has_min = std::isfinite(field.min), has_max = std::isfinite(field.max);
    if (has_min && has_max) return fmt::format("{} from {} to {}", what, field.min, field.max);
    if (has_min) return fmt::format("{} of at least {}", what, field.min);
    if (has_max) return fmt::format("{} of at most {}", what, field.max);
    return std::string(what);
  };
  switch (field.type) {
    case FieldType::boolean: return "true or false";
    case FieldType::integer: return ranged("a whole number");
    case FieldType::real: return ranged("a number");
    case FieldType::text: return "a text";
    case FieldType::texts: return "a text or an array of texts";
    case FieldType::object: return "an object";
    case FieldType::array: return "an array";
    case FieldType::any: return "a value";
  }
  return {};
}

Result<RequestFields> RequestFields::read(FieldTables tables, const Json& body) {
  if (!body.is_object()) {
    return fail(ErrorKind::usage, "body: found {}, expected a JSON object", printable(json_text(body), 40));
  }
  RequestFields fields;
  fields.tables_ = tables;
  for (const auto& [key, value] : body.items()) {
    if (!value.is_null()) PLM_TRY(fields.take(tables, key, value));
  }
  return fields;
}

Result<void> RequestFields::take(FieldTables tables, const std::string& key, const Json& value) {
  for (const FieldTable table : tables) {
    for (const Field& field : table()) {
      const auto rank = rank_of(field, key);
      if (!rank.has_value()) continue;
      if (field.use == FieldUse::is_inert) return {};
      if (field.use == FieldUse::is_ignored) {
        if (!is_neutral(field, value)) ignored_.push_back(key);
        return {};
      }
      if (!has_type(field, value) || !is_in_range(field, value)) {
        return fail(ErrorKind::usage, "{}: found {}, expected {}", key, printable(json_text(value), 80),
                    expected_text(field));
      }
      const auto given = std::ranges::find(given_, &field, &Given::field);
      if (given == given_.end()) {
        given_.push_back({&field, &value, *rank});
      } else if (*rank < given->rank) {
        *given = {&field, &value, *rank};
      }
      return {};
    }
  }
  undeclared_.push_back({key, &value});
  return {};
}

const Json* RequestFields::find(std::string_view name) const {
  for (const Given& given : given_) {
    if (given.field->name == name) return given.value;
  }
  const bool is_declared = std::ranges::any_of(tables_, [&](const FieldTable table) {
    const auto declared = table();
    return std::ranges::find(declared, name, &Field::name) != declared.end();
  });
  PLM_CHECK(is_declared);
  return nullptr;
}

bool RequestFields::boolean(std::string_view name, bool standard) const {
  const Json* value = find(name);
  if (value == nullptr) return standard;
  return value->is_boolean() ? value->get<bool>() : whole(*value) != 0;
}

std::optional<std::int64_t> RequestFields::integer(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return whole(*value);
}

std::optional<double> RequestFields::real(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->get<double>();
}

std::string RequestFields::text(std::string_view name) const {
  const Json* value = find(name);
  return value == nullptr ? std::string() : value->get<std::string>();
}

std::vector<std::string> RequestFields::texts(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  return value->get<std::vector<std::string>>();
}

}  // namespace plm
