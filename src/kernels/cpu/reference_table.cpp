// The table of the plain kernels. Tested by tests/kernels/cpu/test_cpu_device.cpp.
#include "kernels/cpu/kernel_table.h"

namespace plm {

KernelTable reference_kernels() {
  return {
      .name = "reference",
      .panels = false,
      .embed = reference::embed,
      .linear = reference::linear,
      .round = reference::round,
      .integer_linear = reference::integer_linear,
      .rms_norm = reference::rms_norm,
      .rope = reference::rope,
      .hadamard = reference::hadamard,
      .store_kv = reference::store_kv,
      .attention = reference::attention,
      .gate_multiply = reference::gate_multiply,
      .soft_cap = reference::soft_cap,
      .add = reference::add,
      .layer_norm = reference::layer_norm,
      .apply = reference::apply,
      .scale = reference::scale,
      .causal_conv = reference::causal_conv,
      .state_space_scan = reference::state_space_scan,
      .delta_rule_scan = reference::delta_rule_scan,
      .statistics = reference::statistics,
      .top_n = reference::top_n,
      .route = reference::route,
      .sum_experts = reference::sum_experts,
      .add_gated = reference::add_gated,
  };
}

}  // namespace plm
