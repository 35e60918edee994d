// Any bytes as a recipe and as the state of a chain: refused, or read; compared with themselves nothing differs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "engine/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = plm::parse_json(text, "fuzz.json");
  if (!json.has_value()) return 0;
  PLM_CHECK(plm::recipe_differences(*json, *json).empty());
  (void)plm::read_recipe(*json, "fuzz.json");
  const plm::Settings settings(plm::sampling_parameters());
  plm::Chain chain = plm::Chain::create(settings).value();
  if (chain.restore(*json).has_value()) PLM_CHECK(chain.save() == chain.save());
  return 0;
}
