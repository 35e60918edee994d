// One place of a formatted text: how wide, how precise, as which kind of number (Python's format specification).
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace plm::jinja {

class Rendering;

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  ///< < > ^ =, or unset: as the value's type has it
  char sign = '-';    ///< + - or space
  bool is_alternate = false;
  bool pads_with_zeros = false;
  std::size_t width = 0;
  char grouping = '\0';  ///< , or _
  std::optional<std::size_t> precision;
  char type = '\0';
};

/// [[fill]align][sign][#][0][width][grouping][.precision][type]. Throws when `text` is not of this form.
[[nodiscard]] FormatSpec parse_format_spec(std::string_view text);

// The value as the specification has it, padded. Throw when the type does not go with the value.
[[nodiscard]] MarkedText format_text(Rendering& rendering, const MarkedText& text, const FormatSpec& spec);
[[nodiscard]] MarkedText format_number(Rendering& rendering, const Value& number, FormatSpec spec);

}  // namespace plm::jinja
