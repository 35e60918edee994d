// Who may ask: API keys, the Host header, and which web pages' scripts.
//
// Keys are compared in constant time. A browser can be made to send requests to a server on its own machine: by a page
// elsewhere (it then says so in Origin) or by a name that resolves to 127.0.0.1 (the name is then in Host). Both are
// refused unless listed. Source: the project's security notes, browser attacks and auth. Tested by
// tests/serve/test_access.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "serve/http_message.h"
#include "serve/text_plan.h"

namespace plm {

struct AccessRules {
  std::vector<std::string> keys;     ///< empty: everybody may ask
  std::vector<std::string> hosts;    ///< names that Host may have besides addresses and localhost; "*": any
  std::vector<std::string> origins;  ///< of pages whose scripts may ask; "*": any
};

/// Equal, in a time that depends on the lengths only.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Whether an address is of this machine only: 127.0.0.0/8 or ::1.
[[nodiscard]] bool is_loopback(std::string_view address);

/// A file of keys, one a line; blanks around them, empty lines and lines that begin with # do not count.
[[nodiscard]] std::vector<std::string> keys_of(std::string_view text);

/// Why a request is refused, if it is: 401, 403 or 415. `needs_key`: of a path that is not open to everybody.
[[nodiscard]] std::optional<Failure> refusal(const AccessRules& rules, const HttpRequest& request, bool needs_key);

/// The headers that let a listed page's script read the answer; none for others.
[[nodiscard]] HttpHeaders cors_headers(const AccessRules& rules, const HttpRequest& request);

}  // namespace plm
