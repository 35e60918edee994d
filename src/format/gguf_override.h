// A value of a model file's metadata as a user sets it: KEY=VALUE, typed as the file has it. Part of format/gguf.h
// (GgufFile::overridden). Tested by tests/format/test_gguf_override.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/gguf_value.h"

namespace plm {

struct GgufOverride {
  std::string key;
  GgufType type = GgufType::string;
  std::vector<std::byte> bytes;  ///< as MetaValue wants them
};

/// "KEY=VALUE" for a key that holds `standing`, or nothing (null): then the value says what it is, a whole number, a
/// number with a point or exponent, true or false, else a text. VALUE may begin with llama.cpp's "int:", "float:",
/// "bool:" or "str:". Errors (usage) name the key.
[[nodiscard]] Result<GgufOverride> make_gguf_override(std::string_view key, std::string_view value,
                                                      const MetaValue* standing);

}  // namespace plm
