// Base64 (RFC 4648, section 4): binary data inside of JSON. Tested by tests/base/test_base64.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plm {

/// The bytes that `text` stands for; nullopt when it holds anything but the alphabet and padding at its end.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

/// The text that stands for `bytes`, padded.
[[nodiscard]] std::string base64_encode(std::string_view bytes);

}  // namespace plm
