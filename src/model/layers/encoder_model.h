// An encoder of the kind that EncoderConfig describes: every row sees all rows of its sequence (or those near it), and
// what comes out is the hidden state of each. One layer, with its norms behind the sums:
//   h = norm(x + W_o attention(W_q x, W_k x, W_v x))
//   x = norm(h + W_down activation(W_up h))
// Where the file has a head that fills masks, its logits are those of E norm(activation(W x + b)) + c, over the
// embedding E or a matrix of the head's own. Keys and values are needed within their own layer only, so all layers
// share one place in a sequence's pages and a sequence is read whole, in one pass, as scratch. Tested by
// tests/model/test_encoders.cpp against an independent float32 oracle.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/layers/encoder_config.h"
#include "model/layers/feed_forward.h"
#include "model/layers/layer_norm.h"
#include "model/layers/output_head.h"
#include "model/layers/window.h"
#include "model/workspace.h"

namespace plm {

/// Tensor that tells an encoder that fills masks. The head: output_transform, output_transform_norm, output.
inline constexpr std::string_view kMaskHeadTensor = "output_transform.weight";

class EncoderModel : public Model {
 public:
  /// Checks all tensors, then takes them to the device. Errors name the tensor; a tensor or key that is left over is
  /// one.
  static Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device, EncoderConfig config);

  [[nodiscard]] const ModelShape& shape() const override { return config_.shape; }
  [[nodiscard]] Result<StateLayout> state_layout(const KvTypes& types) const override;
  /// Error (usage): a position or token type that the tables lack, or a yield of logits where there is no head.
  Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) override;
  Result<void> enqueue_head(const View& hidden, const PassRows& rows) override;

 private:
  struct Layer {
    std::optional<LayerNorm> attention_norm;  // none: see EncoderConfig::first_norm_missing
    Attention attention;
    LayerNorm ffn_norm;
    FeedForward ffn;  // its gate is empty where the network has none
  };

  // See the head of this file.
  struct MaskHead {
    Linear transform;
    LayerNorm norm;
    std::unique_ptr<Weight> words;  // [vocab_size, hidden_size]
    std::unique_ptr<Weight> bias;   // [vocab_size] or null
  };

  // Activations of one pass, reused by every layer.
  struct Activations {
    View x, normed, delta;
    AttentionScratch attention;
    FeedForwardScratch ffn;
  };

  // The angles of one rope for the rows of the pass being enqueued.
  struct Angles {
    std::vector<float> numbers;
    View view;
  };

  EncoderModel(EncoderConfig config, Device& device);

  Result<void> load_weights(WeightReader& reader);
  Result<void> load_tables(WeightReader& reader);
  Result<void> load_layer(WeightReader& reader, std::size_t index);
  Result<void> load_mask_head(WeightReader& reader);
  Result<Activations> take_activations(std::size_t rows);
  Result<void> take_angles(std::span<const std::uint32_t> positions);
  Result<void> take_ids(const PassRows& rows);
  void embed(const PassRows& rows, const Activations& at) const;
  Result<void> enqueue_readings(const PassRows& rows, const Activations& at);
  void run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const;
  void run_ffn(const LayerPass& pass, const Layer& layer, const Activations& at, const View& in) const;

  EncoderConfig config_;
  Device& device_;
  Workspace workspace_;
  std::vector<Angles> angles_;           // one for each of config_.ropes
  std::optional<WindowedTable> window_;  // of the layers that have one
  std::vector<std::int32_t> positions_;  // rows of the tables, alive until the device's wait
  std::vector<std::int32_t> types_;

  std::unique_ptr<Weight> embedding_, position_table_, type_table_;
  LayerNorm embedding_norm_;
  std::vector<Layer> layers_;
  std::optional<LayerNorm> final_norm_;
  std::optional<MaskHead> mask_head_;
  OutputHead output_head_;
};

}  // namespace plm
