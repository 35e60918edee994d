// Recognises what people rename to model.gguf: download errors, pointers, other formats. Only for a kinder message.
// Tested by tests/format/test_foreign_file.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace plm {

/// What the bytes are and what to do, as in "an HTML page; the download failed"; nullopt when they look like nothing
/// known.
[[nodiscard]] std::optional<std::string_view> foreign_file_kind(std::span<const std::byte> bytes);

}  // namespace plm
