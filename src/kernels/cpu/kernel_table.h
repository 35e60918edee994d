// The kernels of the CPU device as a table of functions: one filled by the plain versions, one by the vectorised.
// Each function computes the units [begin, end) of its work (kernels/cpu/work.h) on the calling thread. The trees of
// their sums are the contract of kernels/device.h; both tables give the same bits where the machine has fused
// multiply-add. Tested by tests/kernels/cpu/.
#pragma once

#include <string_view>

#include "kernels/cpu/curve_work.h"
#include "kernels/cpu/expert_work.h"
#include "kernels/cpu/recurrent_work.h"
#include "kernels/cpu/work.h"
#include "kernels/cpu_device.h"

namespace plm {

struct KernelTable {
  std::string_view name;  ///< for recipes: "reference" or the instruction set
  bool panels;            ///< whether `linear` reads panels rather than rows
  void (*embed)(const EmbedWork& work, Share rows);
  void (*linear)(const LinearWork& work, Share outputs);
  void (*round)(const RoundWork& work, Share rows);
  void (*integer_linear)(const IntegerLinearWork& work, Share outputs);
  void (*rms_norm)(const RmsNormWork& work, Share rows);
  void (*rope)(const RopeWork& work, Share rows);
  void (*hadamard)(const HadamardWork& work, Share rows);
  void (*store_kv)(const StoreKvWork& work, Share rows);
  void (*attention)(const AttentionWork& work, Share row_heads);
  void (*gate_multiply)(const GateWork& work, Share rows);
  void (*soft_cap)(const SoftCapWork& work, Share rows);
  void (*add)(const AddWork& work, Share rows);
  void (*layer_norm)(const LayerNormWork& work, Share rows);
  void (*apply)(const CurveWork& work, Share rows);
  void (*scale)(const ScaleWork& work, Share rows);
  void (*causal_conv)(const ConvWork& work, Share channels);
  void (*state_space_scan)(const StateSpaceWork& work, Share lane_groups);
  void (*delta_rule_scan)(const DeltaRuleWork& work, Share lane_groups);
  void (*statistics)(const StatisticsWork& work, Share rows);
  void (*top_n)(const TopNWork& work, Share rows);

  void (*route)(const RouteWork& work, Share rows);
  void (*sum_experts)(const ExpertSumWork& work, Share rows);
  void (*add_gated)(const AddGatedWork& work, Share rows);
};

[[nodiscard]] KernelTable reference_kernels();
/// For an instruction set of `usable_simd_targets`.
[[nodiscard]] KernelTable simd_kernels(SimdTarget target);

// The parts of simd_kernels, one for each source file.
void set_simd_linear(KernelTable& table);
void set_simd_integer_linear(KernelTable& table);
void set_simd_layers(KernelTable& table);
void set_simd_curves(KernelTable& table);
void set_simd_attention(KernelTable& table);
void set_simd_logits(KernelTable& table);
void set_simd_recurrent(KernelTable& table);
void set_simd_experts(KernelTable& table);

// Products by the integer dot product of AVX-512 VNNI, which Highway does not have.
namespace vnni {
[[nodiscard]] bool is_usable();  ///< whether this machine can run them
void round(const RoundWork& work, Share rows);
void integer_linear(const IntegerLinearWork& work, Share outputs);
}  // namespace vnni

// The plain versions.
namespace reference {
void embed(const EmbedWork& work, Share rows);
void linear(const LinearWork& work, Share outputs);
void round(const RoundWork& work, Share rows);
void integer_linear(const IntegerLinearWork& work, Share outputs);
void rms_norm(const RmsNormWork& work, Share rows);
void rope(const RopeWork& work, Share rows);
void hadamard(const HadamardWork& work, Share rows);
void store_kv(const StoreKvWork& work, Share rows);
void attention(const AttentionWork& work, Share row_heads);
void gate_multiply(const GateWork& work, Share rows);
void soft_cap(const SoftCapWork& work, Share rows);
void add(const AddWork& work, Share rows);
void layer_norm(const LayerNormWork& work, Share rows);
void apply(const CurveWork& work, Share rows);
void scale(const ScaleWork& work, Share rows);
void causal_conv(const ConvWork& work, Share channels);
void state_space_scan(const StateSpaceWork& work, Share lane_groups);
void delta_rule_scan(const DeltaRuleWork& work, Share lane_groups);
void statistics(const StatisticsWork& work, Share rows);
void top_n(const TopNWork& work, Share rows);

void route(const RouteWork& work, Share rows);
void sum_experts(const ExpertSumWork& work, Share rows);
void add_gated(const AddGatedWork& work, Share rows);
}  // namespace reference

}  // namespace plm
