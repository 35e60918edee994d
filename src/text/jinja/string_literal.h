// The escapes of a string literal: Python's, which are also JSON's.
// Tested by tests/text/jinja/test_lexer.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace plm::jinja {

struct EscapeFault {
  std::size_t offset;  ///< of the escape in the body, in bytes
  std::string reason;
};

/// What the body of a literal (between its quotes) means. An escape that Python does not know stays as it is written.
[[nodiscard]] tl::expected<std::string, EscapeFault> resolve_escapes(std::string_view body);

}  // namespace plm::jinja
