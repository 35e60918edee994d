// Any words as sampling controls, one NAME=VALUE a line: refused, or a chain that chooses a token of the row, again the
// same one after its state has gone through JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sampling/chain.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  plm::Settings settings(plm::sampling_parameters());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view value = equals < line.size() ? line.substr(equals + 1) : std::string_view();
    if (!settings.set_text(line.substr(0, equals), value).has_value()) return 0;
  }
  auto chain = plm::Chain::create(settings);
  if (!chain.has_value()) return 0;
  chain->begin(std::vector<std::int32_t>{1, 2, 3, 1, 2});
  const std::vector<float> row = {0.5F, 2, 2, -1, 3, -3e38F, 1, 0};
  plm::Candidates workspace;
  for (std::uint32_t cell = 5; cell < 9; ++cell) {
    const auto selection = chain->select(row, {.seed = 1, .cell = cell}, workspace);
    if (!selection.has_value()) return 0;  // everything masked
    PLM_CHECK(selection->id >= 0 && static_cast<std::size_t>(selection->id) < row.size());
    const auto saved = plm::parse_json(plm::json_text(chain->save()), "state");
    PLM_CHECK(saved.has_value() && chain->restore(*saved).has_value());
    const auto again = chain->select(row, {.seed = 1, .cell = cell}, workspace);
    PLM_CHECK(again.has_value() && again->id == selection->id);
    chain->accept(again->id);
  }
  return 0;
}
