// Any bytes as a template: refused, or cut into texts and holes that are put together again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/infill.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)plm::unescaped(text);
  const auto parsed = plm::parse_holes(text, 3);
  if (!parsed.has_value()) return 0;
  PLM_CHECK(parsed->texts.size() == parsed->lengths.size() + 1);
  std::string again = parsed->texts.front();
  for (std::size_t i = 0; i < parsed->lengths.size(); ++i) {
    again += "{{hole:" + std::to_string(parsed->lengths[i]) + "}}" + parsed->texts[i + 1];
  }
  const auto reread = plm::parse_holes(again).value();
  PLM_CHECK(reread.texts == parsed->texts && reread.lengths == parsed->lengths);
  return 0;
}
