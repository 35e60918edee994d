// Just enough of RFC 3986 to find a schema inside its own document: a reference is joined to a base, split from its
// fragment, and its percent escapes are undone. Nothing is ever fetched.
// Tested by tests/constraint/test_json_schema_document.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plm {

struct UriParts {
  std::string absolute;  ///< without fragment
  std::string fragment;  ///< without "#" and percent escapes
};

/// `reference` seen from `base` (RFC 3986, 5.2).
[[nodiscard]] UriParts join_uri(std::string_view base, std::string_view reference);

/// Percent escapes undone; ill-formed ones stay as they are.
[[nodiscard]] std::string percent_decoded(std::string_view text);

/// One part of a JSON pointer with ~0 and ~1 for ~ and /.
[[nodiscard]] std::string pointer_escaped(std::string_view segment);
[[nodiscard]] std::string pointer_unescaped(std::string_view segment);

}  // namespace plm
