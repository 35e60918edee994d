// The CPU device: operations are checked and recorded, `wait` runs them.
//
// `wait` wakes the thread team once; every member walks the same list of work and computes its own share of each item,
// with barriers where one item needs what another wrote (kernels/cpu/work_order.h). Shares are cut by member number
// alone and no sum crosses a share, so results do not depend on the number of threads.
// Tested by tests/kernels/cpu/test_cpu_device.cpp. Public entry: kernels/cpu_device.h.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/thread_team.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/work_order.h"
#include "kernels/cpu_device.h"

namespace plm {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options);

  [[nodiscard]] std::string describe() const override;
  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override;
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override;

  void upload(const View& to, std::span<const std::byte> from) override;
  void download(const View& from, std::span<std::byte> to) override;
  void copy(Storage& to, const Storage& from) override;
  void copy(const View& to, const View& from) override;
  void gather_rows(const View& in, std::span<const std::uint32_t> indices, const View& out) override;

  void embed(const Weight& table, std::span<const std::int32_t> ids, const View& out, float factor) override;
  void linear(const Weight& weight, const View& in, const View& out, const Weight* bias) override;
  void head_linear(const Weight& weight, const View& in, const View& out) override;
  void rms_norm(const View& in, const Weight& gain, float epsilon, const View& out) override;
  void rope(const View& x, std::size_t head_dim, const View& angles, RopeLayout layout) override;
  void hadamard(const View& x, std::size_t block) override;
  void store_kv(const View& keys, const View& values, const RowTable& table, const KvPlace& place) override;
  void attention(const View& queries, const RowTable& table, const KvPlace& place, ScoreRule rule,
                 const View& out) override;
  void gate_multiply(const View& gate, const View& up, Activation activation, const View& out) override;
  void soft_cap(const View& x, float cap) override;
  void add(const View& x, const View& y) override;
  void layer_norm(const View& in, const Weight& gain, const Weight* bias, float epsilon, const View& out) override;
  void apply(const View& x, Curve curve) override;
  void scale(const View& x, float factor) override;
  void causal_conv(const View& in, const RowTable& table, const ConvPlace& place, const ConvWeights& weights,
                   const View& out) override;
  void state_space_scan(const StateSpaceInputs& in, const RowTable& table, const ScanPlace& place,
                        const View& out) override;
  void delta_rule_scan(const DeltaRuleInputs& in, const RowTable& table, const ScanPlace& place,
                       const View& out) override;
  void all_reduce(const View& x) override;

  // cpu_experts.cpp
  void route(const View& scores, const RouterRule& rule, const Weight* bias, const View& routing) override;
  void experts(const ExpertWeights& weights, const View& in, const View& routing, const ExpertScratch& scratch,
               const View& out) override;
  void add_gated(const View& x, const View& y, const View& gates) override;

  void statistics(const View& logits, std::span<RowStatistics> statistics) override;
  void top_n(const View& logits, std::size_t n, std::span<TokenScore> top) override;

  Result<void> wait() override;

 private:
  using Work =
      std::variant<MoveWork, EmbedWork, LinearWork, RoundWork, IntegerLinearWork, RmsNormWork, RopeWork, HadamardWork,
                   StoreKvWork, AttentionWork, HeadLinearWork, GateWork, SoftCapWork, AddWork, LayerNormWork, CurveWork,
                   ScaleWork, ConvWork, StateSpaceWork, DeltaRuleWork, StatisticsWork, TopNWork, RouteWork,
                   ExpertListWork, ExpertRowsWork, ExpertLinearWork, ExpertSumWork, AddGatedWork>;
  struct Step {
    Work work;
    bool waits;  // for all steps before it
  };

  // The activations that were rounded last, so that several weights can share them.
  struct Rounded {
    Floats in{};
    RoundedRows out{};
    AlignedBuffer memory;
    std::vector<AlignedBuffer> outgrown;  // still read by work that was enqueued before
  };

  // What uploads took from their callers. The first `count` are of work that has not run; the others only keep their
  // memory, so that a pass like the one before allocates nothing.
  struct Uploads {
    std::vector<std::vector<std::byte>> taken;
    std::size_t count = 0;
    // A copy that stays where it is until `count` is reset.
    const std::byte* take(std::span<const std::byte> from);
  };

  void enqueue(const Work& work, std::initializer_list<Touch> touches);
  Result<void> check_finite(const WeightSource& source);
  [[nodiscard]] std::size_t count_denormals(const WeightSource& source);
  Result<void> pack(const WeightSource& source, CpuWeight& weight);
  // Whether products with the weight take rounded activations.
  [[nodiscard]] bool rounds_for(const Weight& weight) const;
  // Makes rounded_ hold `in`; returns what went wrong.
  std::optional<Error> round(const Floats& in);
  // The same; false when it went wrong, which `wait` tells.
  bool round_or_fail(const Floats& in);
  void expert_linear(const Weight& weight, const Weight* bias, const View& in, const View& out);

  const KernelTable kernels_;
  const Activations activations_;
  ThreadTeam team_;
  WeightMemory weight_memory_;
  std::vector<Step> steps_;  // keeps its capacity from one wait to the next
  WorkOrder order_;
  Rounded rounded_;
  Uploads uploads_;
  std::vector<float> page_sums_;  // of the attention that runs (AttentionWork::page_sums)
  ExpertLists expert_lists_;      // of the experts that run
  std::optional<Error> failure_;  // of an operation since the last wait
};

/// Head by head: the matrix of each meets its own columns (cpu_experts.cpp).
void multiply_heads(const KernelTable& kernels, const HeadLinearWork& work, Share panels);

}  // namespace plm
