// Any text as the description of a network: it is refused, or everything that is counted from it comes out without
// overflow.
#include <cstddef>
#include <cstdint>

#include "base/json.h"
#include "plan/parameter_counting.h"
#include "plan/sequence_memory.h"
#include "plan/sketch_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = plm::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!json) return 0;
  const auto sketch = plm::parse_sketch_json(*json, "fuzz.json");
  if (!sketch) return 0;
  const auto counts = plm::count_parameters(*sketch);
  if (counts && counts->active) PLM_CHECK(*counts->active <= counts->stored);
  const auto short_text = plm::sequence_bytes(*sketch, 1, {});
  const auto long_text = plm::sequence_bytes(*sketch, plm::SketchLimits::kTokens, {});
  if (short_text && long_text) PLM_CHECK(short_text->total() <= long_text->total());
  return 0;
}
