// The formats of JSON Schema as regular expressions over the value of the string. Every text that one of them accepts
// is of the format; those that are not `exact` leave out rare spellings (leap seconds, quoted mail names, addresses
// with bracketed hosts), which a generator never misses but a denial would. Sources: RFC 3339 (dates, durations), 5321
// and 1123 (mail, hosts), 2673 and 4291 (addresses), 4122, 3986, 6570, 6901. Tested by
// tests/constraint/test_json_schema_string.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "constraint/decimal.h"

namespace plm {

struct StringFormat {
  std::string_view name;
  std::string pattern;                 ///< of the whole value
  bool exact = true;                   ///< accepts every string of the format
  std::uint32_t longest = UINT32_MAX;  ///< characters
};

/// nullptr: no format that is enforced.
[[nodiscard]] const StringFormat* string_format(std::string_view name);

/// "date, date-time, ...", for messages.
[[nodiscard]] std::string string_format_names();

/// OpenAPI's names for ranges of integers.
struct IntegerFormat {
  Decimal lowest, highest;
};
[[nodiscard]] std::optional<IntegerFormat> integer_format(std::string_view name);

/// Names that say how a program keeps or shows a value and nothing about the text: "double", "password" ...
[[nodiscard]] bool is_storage_format(std::string_view name);

}  // namespace plm
