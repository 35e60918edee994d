// The last step: for the rows that must yield something, logits in the form that was asked for.
//
// Only rows that need logits are multiplied with the head, and only what was asked for leaves the device: statistics
// and the n largest are found there. Rows go through the head in small groups, so that logits of a long prompt never
// lie in memory all at once. Tested by tests/model/test_output_head.cpp.
#pragma once

#include <vector>

#include "model/layers/layer_pass.h"
#include "model/workspace.h"

namespace plm {

/// The rows of a pass after the last norm, [rows, hidden_size].
struct FinalRows {
  View states;      ///< what `hidden` yields
  View for_logits;  ///< what the head is applied to: the same, but where a head has layers of its own

  FinalRows(const View& both) : FinalRows(both, both) {}  // NOLINT(google-explicit-constructor)
  FinalRows(const View& of_states, const View& of_logits) : states(of_states), for_logits(of_logits) {}
};

class OutputHead {
 public:
  const Weight* bias = nullptr;  ///< [vocab_size] on logits, or null
  float soft_cap = 0;            ///< of logits; 0: none
  float scale = 1;               ///< of logits, before that

  /// Enqueues head and readings. `head`: [vocab_size, hidden_size].
  Result<void> enqueue(Device& device, Workspace& workspace, const Weight& head, const FinalRows& hidden,
                       const PassRows& rows);
  [[nodiscard]] static bool needs_logits(YieldKind kind) {
    return kind != YieldKind::nothing && kind != YieldKind::hidden;
  }
  /// For networks without a head: hidden states only. Error (usage): a yield wants logits.
  static Result<void> enqueue_hidden(Device& device, const View& hidden, const PassRows& rows);

 private:
  static constexpr std::size_t kGroupRows = 32;

  void leave_out(Device& device, std::span<const std::size_t> asking, const View& logits, const PassRows& rows);
  static void enqueue_readings(Device& device, std::span<const std::size_t> asking, const View& logits,
                               const PassRows& rows);

  std::vector<std::size_t> asking_;     // yields that need logits
  std::vector<std::uint32_t> indices_;  // their rows, alive until the device's wait
  std::vector<float> never_;
};

}  // namespace plm
