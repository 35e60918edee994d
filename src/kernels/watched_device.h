// A device that tells of every operation: what it was, how long it took, what it read. For the laboratory (plm walk).
//
// It hands everything to another device and waits after each operation, so results are there at once, and are those of
// that device bit for bit; a pass takes a little longer than it would unwatched.
// Tested by tests/kernels/test_watched_device.cpp.
#pragma once

#include <optional>

#include "kernels/device.h"

namespace plm {

struct WatchedOperation {
  std::string_view name;           ///< as the Device calls it
  double ms = 0;                   ///< wall time
  std::uint64_t weight_bytes = 0;  ///< of the weights it read, as the file stores them
  std::uint64_t state_bytes = 0;   ///< of the keys and values it read, each once for a sequence
};

/// Who is told. `device` is the watched one: what a watcher asks of it is not told, and it has to wait for it.
class DeviceWatcher {
 public:
  virtual ~DeviceWatcher() = default;
  virtual void on_operation(Device& device, const WatchedOperation& operation) = 0;
  /// What the coming Device::store_kv and Device::attention read.
  virtual void on_keys(Device& /*device*/, const View& /*keys*/, const RowTable& /*table*/, const KvPlace& /*place*/) {}
  virtual void on_queries(Device& /*device*/, const View& /*queries*/, const RowTable& /*table*/,
                          const KvPlace& /*place*/, const ScoreRule& /*rule*/) {}
};

class WatchedDevice : public Device {
 public:
  /// The watcher must outlive the device.
  WatchedDevice(std::unique_ptr<Device> device, DeviceWatcher& watcher)
      : device_(std::move(device)), watcher_(watcher) {}

  [[nodiscard]] std::string describe() const override { return device_->describe(); }
  Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  Result<std::unique_ptr<Weight>> load_weight(const WeightSource& source) override {
    return device_->load_weight(source);
  }

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
  void scale(const View& x, float factor) override;
  void causal_conv(const View& in, const RowTable& table, const ConvPlace& place, const ConvWeights& weights,
                   const View& out) override;
  void state_space_scan(const StateSpaceInputs& in, const RowTable& table, const ScanPlace& place,
                        const View& out) override;
  void delta_rule_scan(const DeltaRuleInputs& in, const RowTable& table, const ScanPlace& place,
                       const View& out) override;
  void route(const View& scores, const RouterRule& rule, const Weight* bias, const View& routing) override;
  void experts(const ExpertWeights& weights, const View& in, const View& routing, const ExpertScratch& scratch,
               const View& out) override;
  void add_gated(const View& x, const View& y, const View& gates) override;
  void layer_norm(const View& in, const Weight& gain, const Weight* bias, float epsilon, const View& out) override;
  void apply(const View& x, Curve curve) override;
  void all_reduce(const View& x) override;
  void statistics(const View& logits, std::span<RowStatistics> statistics) override;
  void top_n(const View& logits, std::size_t n, std::span<TokenScore> top) override;

  /// Error: the first of an operation since the last wait.
  Result<void> wait() override;

 private:
  struct Reads {
    std::uint64_t weight_bytes = 0;
    std::uint64_t state_bytes = 0;
  };
  template <typename Enqueue>
  void watch(std::string_view name, const Reads& reads, const Enqueue& enqueue);
  void wait_for_it();
  [[nodiscard]] std::uint64_t read_expert_bytes(const ExpertWeights& weights, const View& routing);

  std::unique_ptr<Device> device_;
  DeviceWatcher& watcher_;
  std::optional<Error> failure_;
};

}  // namespace plm
