// How many columns a character takes on a terminal, by utf8proc (Unicode Standard Annex 11).
// Tested by tests/text/test_display_width.cpp.
#pragma once

#include <cstddef>
#include <string_view>

namespace plm {

/// 0 for combining marks and what shows nothing, 2 for wide characters, else 1. `character`: one well-formed character.
[[nodiscard]] std::size_t display_width(std::string_view character);

}  // namespace plm
