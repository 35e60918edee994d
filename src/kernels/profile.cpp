#include "kernels/profile.h"

#include "kernels/cpu/panel.h"
#include "kernels/cpu/rounded_rows.h"

namespace plm {

std::uint64_t packed_weight_bytes(const StorageType& type, std::uint64_t outputs, std::uint64_t inputs,
                                  std::uint64_t count) {
  const PanelType* panel = find_panel_type(type);
  return panel == nullptr ? 0 : count * panel_count(outputs) * panel_bytes(panel->form, part_count(inputs));
}

std::uint64_t rounded_bytes(std::uint64_t rows, std::uint64_t inputs) {
  return RoundedRows::bytes(rows, part_count(inputs));
}

}  // namespace plm
