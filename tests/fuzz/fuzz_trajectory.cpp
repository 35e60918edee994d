// Any bytes as a trajectory: refused, or read; every position has a history, and it differs from itself in nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/trajectory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trajectory = plm::read_trajectory(text, "fuzz.plmtraj");
  if (!trajectory.has_value()) return 0;
  for (std::size_t position = 0; position < std::min<std::size_t>(trajectory->cells, 64); ++position) {
    for (const plm::CellMoment& moment : plm::history_of(*trajectory, position)) {
      PLM_CHECK((moment.change == nullptr) != (moment.proposal == nullptr));
    }
  }
  PLM_CHECK(!plm::first_difference(text, text, "fuzz.plmtraj").value().has_value());
  return 0;
}
