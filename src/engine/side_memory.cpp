#include "engine/side_memory.h"

#include <utility>

namespace plm {

SideMemory::SideMemory(Device& device, Model& model, StateLayout layout, const Limits& limits)
    : layout_(std::move(layout)),
      context_length_(limits.context_length),
      pages_(device, layout_.page_bytes, (limits.context_length + kPageCells - 1) / kPageCells),
      scheduler_(Scheduler::Parts{device, model, layout_}, limits.batch_rows) {
  if (layout_.block_bytes > 0) blocks_.emplace(device, layout_.block_bytes, RecurrentMemory::kMostBlocks);
}

std::unique_ptr<EngineSession> SideMemory::open_session() {
  const StatePools pools(pages_, blocks_.has_value() ? &*blocks_ : nullptr);
  return std::make_unique<EngineSession>(scheduler_, SequenceState(pools), std::span<const TokenId>(), context_length_,
                                         Listener());
}

Result<void> SideMemory::run(const std::function<bool()>& interrupted) {
  while (!scheduler_.idle()) {
    if (interrupted && interrupted()) return {};
    PLM_TRY(scheduler_.step());
  }
  return {};
}

}  // namespace plm
