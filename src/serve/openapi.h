// The server's API as an OpenAPI 3.1 document, generated from the dialects' definitions. Tested by
// tests/serve/test_openapi.cpp.
#pragma once

#include <string_view>

#include "base/json_forward.h"

namespace plm {

[[nodiscard]] Json openapi_document(std::string_view version);

}  // namespace plm
