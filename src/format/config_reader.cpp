#include "format/config_reader.h"

#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr JsonLimits kLimits{.bytes = 16U << 20, .depth = 32};

std::string between(ConfigReader::IntegerRange range) {
  return fmt::format("an integer between {} and {}", range.min, range.max);
}

bool is_within(const Json& value, ConfigReader::IntegerRange range) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() >= range.min &&
         value.get<std::uint64_t>() <= range.max;
}

// The text with null for Infinity outside strings.
std::string without_infinity(std::string_view text) {
  constexpr std::string_view kInfinity = "Infinity";
  std::string plain;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_in_string = !is_in_string;
    if (is_in_string && text[i] == '\\' && i + 1 < text.size()) plain += text[i++];
    if (is_in_string || !text.substr(i).starts_with(kInfinity)) {
      plain += text[i];
    } else {
      plain += "null";
      i += kInfinity.size() - 1;
    }
  }
  return plain;
}

}  // namespace

Result<ConfigReader> ConfigReader::parse(std::string_view text, std::string path) {
  PLM_TRY_ASSIGN(Json parsed, parse_json(without_infinity(text), path, kLimits));
  if (!parsed.is_object()) {
    return fail(ErrorKind::bad_input, "{}: holds {}, expected a JSON object", path, parsed.type_name());
  }
  const auto root = std::make_shared<const Json>(std::move(parsed));
  return ConfigReader(root, *root, std::move(path), "");
}

Result<std::vector<ConfigReader>> ConfigReader::parse_list(std::string_view text, const std::string& path) {
  PLM_TRY_ASSIGN(Json parsed, parse_json(without_infinity(text), path, kLimits));
  if (!parsed.is_array()) {
    return fail(ErrorKind::bad_input, "{}: holds {}, expected a JSON list", path, parsed.type_name());
  }
  const auto root = std::make_shared<const Json>(std::move(parsed));
  std::vector<ConfigReader> items;
  for (const Json& item : *root) {
    const std::string prefix = fmt::format("[{}].", items.size());
    if (!item.is_object()) {
      return fail(ErrorKind::bad_input, "{}: [{}] is {}, expected an object", path, items.size(), item.type_name());
    }
    items.push_back(ConfigReader(root, item, path, prefix));
  }
  return items;
}

const Json* ConfigReader::find(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

tl::unexpected<Error> ConfigReader::error(std::string_view key, std::string_view rule) const {
  const Json* value = find(key);
  if (value == nullptr) {
    return fail(ErrorKind::bad_input, "{}: {}{} is missing, expected {}", path_, prefix_, printable(key), rule);
  }
  return fail(ErrorKind::bad_input, "{}: {}{} = {}: must be {}", path_, prefix_, printable(key),
              printable(json_text(*value), 80), rule);
}

Result<std::uint64_t> ConfigReader::integer(std::string_view key, IntegerRange range) const {
  const Json* value = find(key);
  if (value == nullptr || !is_within(*value, range)) return error(key, between(range));
  return value->get<std::uint64_t>();
}

Result<double> ConfigReader::positive_real(std::string_view key, double highest) const {
  const Json* value = find(key);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : 0;
  if (!(number > 0 && number <= highest)) return error(key, fmt::format("above 0 and at most {}", highest));
  return number;
}

Result<std::string> ConfigReader::text(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return error(key, "a string");
  return value->get<std::string>();
}

Result<std::uint64_t> ConfigReader::integer_or(std::string_view key, std::uint64_t otherwise,
                                               IntegerRange range) const {
  if (!has(key)) return otherwise;
  return integer(key, range);
}

Result<double> ConfigReader::positive_real_or(std::string_view key, double otherwise, double highest) const {
  if (!has(key)) return otherwise;
  return positive_real(key, highest);
}

Result<std::string> ConfigReader::text_or(std::string_view key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  return text(key);
}

Result<bool> ConfigReader::boolean_or(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return error(key, "true or false");
  return value->get<bool>();
}

Result<std::vector<std::uint64_t>> ConfigReader::integers_or_none(std::string_view key, IntegerRange range) const {
  const Json* value = find(key);
  std::vector<std::uint64_t> numbers;
  if (value == nullptr) return numbers;
  const Json list = value->is_array() ? *value : Json::array({*value});
  for (const Json& item : list) {
    if (!is_within(item, range)) return error(key, between(range) + ", or a list of them");
    numbers.push_back(item.get<std::uint64_t>());
  }
  return numbers;
}

Result<std::vector<double>> ConfigReader::reals_or_none(std::string_view key) const {
  const Json* value = find(key);
  std::vector<double> numbers;
  if (value == nullptr) return numbers;
  if (!value->is_array()) return error(key, "a list of numbers");
  for (const Json& item : *value) {
    if (!item.is_number() && !item.is_null()) return error(key, "a list of numbers");
    numbers.push_back(item.is_null() ? std::numeric_limits<double>::infinity() : item.get<double>());
  }
  return numbers;
}

Result<std::vector<double>> ConfigReader::positive_reals(std::string_view key, double highest) const {
  const Json* value = find(key);
  const std::string rule = fmt::format("a list of numbers above 0 and at most {}", highest);
  if (value == nullptr || !value->is_array()) return error(key, rule);
  std::vector<double> numbers;
  for (const Json& item : *value) {
    const double number = item.is_number() ? item.get<double>() : 0;
    if (!(number > 0 && number <= highest)) return error(key, rule);
    numbers.push_back(number);
  }
  return numbers;
}

Result<std::vector<std::string>> ConfigReader::texts_or_none(std::string_view key) const {
  const Json* value = find(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (!value->is_array()) return error(key, "a list of strings");
  for (const Json& item : *value) {
    if (!item.is_string()) return error(key, "a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<std::vector<std::pair<std::string, std::string>>> ConfigReader::named_texts_or_none(std::string_view key) const {
  const Json* value = find(key);
  std::vector<std::pair<std::string, std::string>> texts;
  if (value == nullptr) return texts;
  if (!value->is_object()) return error(key, "an object of strings");
  for (const auto& [name, text] : value->items()) {
    if (!text.is_string()) return error(key, "an object of strings");
    texts.emplace_back(name, text.get<std::string>());
  }
  return texts;
}

Result<std::optional<ConfigReader>> ConfigReader::section(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<ConfigReader>();
  if (!value->is_object()) return error(key, "an object");
  return std::optional(ConfigReader(root_, *value, path_, fmt::format("{}{}.", prefix_, key)));
}

}  // namespace plm
