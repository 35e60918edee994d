// A decoder-only network some or all of whose layers are recurrent, of the kind that HybridConfig describes. One layer:
//   h = x + s mixer(norm(x)),  x = h + s ffn(norm(h))
// Tested by tests/model/test_hybrids.cpp against an independent float32 oracle.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "model/layers/delta_net.h"
#include "model/layers/experts.h"
#include "model/layers/feed_forward.h"
#include "model/layers/gated_attention.h"
#include "model/layers/hybrid_config.h"
#include "model/layers/mamba.h"
#include "model/layers/output_head.h"
#include "model/workspace.h"

namespace plm {

class HybridModel : public Model {
 public:
  /// Checks all tensors, then takes them to the device. Errors name the tensor; a tensor or key that is left over is
  /// one.
  static Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device, HybridConfig config);

  [[nodiscard]] const ModelShape& shape() const override { return config_.shape; }
  [[nodiscard]] Result<StateLayout> state_layout(const KvTypes& types) const override;
  Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) override;
  Result<void> enqueue_head(const View& hidden, const PassRows& rows) override;

 private:
  struct Layer {
    RmsNorm norm;
    std::optional<Attention> attention;
    std::optional<GatedAttention> gated_attention;
    std::optional<Mamba> mamba;
    std::optional<DeltaNet> delta_net;
    std::optional<RmsNorm> ffn_norm;
    std::optional<FeedForward> ffn;
    std::optional<Experts> experts;
  };

  // Activations of one pass, reused by every layer.
  struct Activations {
    View x, normed, delta;
    GatedAttentionScratch attention;
    MambaScratch mamba;
    DeltaNetScratch delta_net;
    FeedForwardScratch ffn;
    MixtureScratch experts;
  };

  HybridModel(HybridConfig config, Device& device);

  Result<void> load_weights(WeightReader& reader);
  Result<void> load_layer(WeightReader& reader, std::size_t index);
  Result<void> load_mixers(WeightReader& reader, const std::string& prefix, Mixer mixer, Layer& layer);
  Result<RmsNorm> load_norm(WeightReader& reader, const std::string& name) const;
  [[nodiscard]] bool has(std::initializer_list<Mixer> kinds) const;
  Result<void> load_ffn(WeightReader& reader, const std::string& prefix, Layer& layer) const;
  Result<Activations> take_activations(std::size_t rows);
  Result<void> take_experts(std::size_t rows, MixtureScratch& at);
  Result<View> take_angles(std::span<const std::uint32_t> positions);
  Result<void> finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe);
  void run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const;

  HybridConfig config_;
  Device& device_;
  Workspace workspace_;
  OutputHead output_head_;
  RecurrentBlocks blocks_;
  std::vector<float> angles_;  // of the pass being enqueued

  std::unique_ptr<Weight> embedding_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> kv_layers_;  // for each layer, how many before it have attention
  RmsNorm final_norm_;
  std::unique_ptr<Weight> head_;
};

}  // namespace plm
