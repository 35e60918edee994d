// Any bytes as JSON: refused, or a value that prints and parses to itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = plm::parse_json(text, "fuzz.json");
  if (!value.has_value()) return 0;
  const auto again = plm::parse_json(plm::json_text(*value), "fuzz.json");
  PLM_CHECK(again.has_value() && plm::json_text(*again) == plm::json_text(*value));
  return 0;
}
