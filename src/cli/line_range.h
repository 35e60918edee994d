// Lines of a text by number, as in "10:14". Tested by tests/cli/test_line_range.cpp.
#pragma once

#include <string_view>

#include "base/error.h"

namespace plm {

/// A part of a text, in bytes.
struct TextPart {
  std::size_t begin = 0, end = 0;
};

/// "10:14" (the last line is part of it), "10:", ":14" or "10"; 1 is the first line. The line feed at the end of the
/// last line is no part. Errors (usage): no such range; lines that the text has not.
[[nodiscard]] Result<TextPart> part_of_lines(std::string_view text, std::string_view range);

}  // namespace plm
