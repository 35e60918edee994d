// A second memory for sequences of a loaded model, with keys and values in types of its own: what a type loses is
// measured by computing the same text in both (engine/score.h). It has a scheduler of its own; its passes and the
// engine's must not be computed at the same time. Tested by tests/engine/test_score.cpp.
#pragma once

#include <functional>
#include <memory>

#include "engine/engine_session.h"
#include "kernels/device.h"
#include "model/model.h"
#include "state/page_pool.h"

namespace plm {

class SideMemory {
 public:
  struct Limits {
    std::size_t context_length;  ///< cells of a sequence
    std::size_t batch_rows;      ///< of a pass
  };

  /// Room for one sequence at a time. `device` and `model` must outlive it.
  SideMemory(Device& device, Model& model, StateLayout layout, const Limits& limits);

  /// A sequence with nothing remembered. The memory must outlive it.
  [[nodiscard]] std::unique_ptr<EngineSession> open_session();
  /// Works until nothing is waiting, or `interrupted` says so between batches.
  Result<void> run(const std::function<bool()>& interrupted);

 private:
  // In this order: what comes later refers to what comes before.
  StateLayout layout_;
  std::size_t context_length_;
  PagePool pages_;
  std::optional<PagePool> blocks_;  // of recurrent layers, if there are any
  Scheduler scheduler_;
};

}  // namespace plm
