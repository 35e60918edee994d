// The code in a text: what stands in its first fence of three backticks, else all of it; without blanks around it.
// Tested by tests/search/test_code_fence.cpp.
#pragma once

#include <string_view>

namespace plm {

[[nodiscard]] std::string_view code_of(std::string_view text);

}  // namespace plm
