// Numbers in texts, as Python's int() and float() read them: spaces around, a sign, single underscores between digits.
// Tested by tests/text/jinja/test_number_text.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plm::jinja {

/// Nothing when the text is no whole number of this base (2 to 36, or 0: by prefix) or does not fit into 64 bits.
[[nodiscard]] std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t base = 10);
[[nodiscard]] std::optional<double> real_of(std::string_view text);

}  // namespace plm::jinja
