// A dense decoder-only network of the kind that DenseConfig describes. One layer, with its norms before the branches:
//   h = x + W_o attention(rope(W_q n), rope(W_k n), W_v n),   n = norm(x)
//   x = h + W_down (activation(W_gate m) * W_up m),           m = norm(h)
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/layers/dense_config.h"
#include "model/layers/feed_forward.h"
#include "model/layers/output_head.h"
#include "model/layers/window.h"
#include "model/workspace.h"

namespace plm {

class DenseModel : public Model {
 public:
  /// Checks all tensors, then takes them to the device. Errors name the tensor; a tensor or key that is left over is
  /// one.
  static Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device, DenseConfig config);

  [[nodiscard]] const ModelShape& shape() const override { return config_.shape; }
  [[nodiscard]] Result<StateLayout> state_layout(const KvTypes& types) const override;
  Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) override;
  Result<void> enqueue_head(const View& hidden, const PassRows& rows) override;

 private:
  struct Layer {
    std::optional<RmsNorm> attention_norm, attention_out_norm;
    Attention attention;
    std::optional<LatentAttention> latent;  // in place of it
    std::optional<RmsNorm> ffn_norm, ffn_out_norm;
    FeedForward ffn;
    std::optional<Experts> experts;  // in place of it
  };

  // Activations of one pass, reused by every layer.
  struct Activations {
    View x, normed, delta;
    AttentionScratch attention;
    LatentScratch latent;
    FeedForwardScratch ffn;
    MixtureScratch experts;
  };

  // The angles of one rope for the rows of the pass being enqueued.
  struct Angles {
    std::vector<float> numbers;
    View view;
  };

  DenseModel(DenseConfig config, Device& device);

  Result<void> load_weights(WeightReader& reader);
  Result<void> load_layer(WeightReader& reader, std::size_t index);
  Result<void> load_attention(WeightReader& reader, const std::string& prefix, Layer& layer);
  Result<Activations> take_activations(std::size_t rows);
  Result<void> take_attention(std::size_t rows, Activations& at);
  Result<void> take_experts(std::size_t rows, MixtureScratch& at);
  Result<void> take_angles(std::span<const std::uint32_t> positions);
  [[nodiscard]] RowTable table_for(const LayerKind& kind, const PassRows& rows) const;
  Result<void> finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe);
  void run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const;

  DenseConfig config_;
  Device& device_;
  Workspace workspace_;
  OutputHead output_head_;
  std::vector<Angles> angles_;          // one for each of config_.ropes
  std::vector<WindowedTable> windows_;  // one for each size of window

  std::unique_ptr<Weight> embedding_;
  std::vector<Layer> layers_;
  RmsNorm final_norm_;
  std::unique_ptr<Weight> head_;
};

}  // namespace plm
