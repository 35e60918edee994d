// The network of DiffusionGemma: one set of weights that reads a text causally and refines a canvas behind it, whose
// rows see one another and all of the text. One layer, for rows of both kinds:
//   h = x + norm(W_o attention(norm(W_q n), norm(W_k n), norm'(W_v n))),   n = norm(x), norm' without gains; layers
//       without W_v take the keys before their norm
//   x = s (h + norm(norm(ffn(norm(h))) + norm(experts(norm(h), router(norm'(h))))))
// with a factor s of the layer, one for either kind. A row of a canvas enters as norm'(e + ffn(norm(p E))), e its
// token's embedding and p what the pass before thought of it (PassRows::soft_tokens), E the embeddings.
// In layers with a window a row of the text sees that many positions, one of a canvas as many of the text less one, and
// all of the canvas. Source: Gemma 4's and DiffusionGemma's classes in transformers 5.24.
// Tested by tests/model/test_canvas_model.cpp against these classes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/layers/attention.h"
#include "model/layers/experts.h"
#include "model/layers/output_head.h"
#include "model/layers/rope.h"
#include "model/workspace.h"

namespace plm {

struct CanvasConfig {
  struct Layer {
    AttentionSize attention;
    bool has_window = false;
    float text_scale = 1, canvas_scale = 1;
  };
  ModelShape shape;
  std::vector<Layer> layers;
  std::uint32_t window = 0;  ///< positions that a row of the text sees in layers with a window
  std::size_t ffn_size = 0;
  ExpertsConfig experts;
  float norm_epsilon = 0;
  float logit_cap = 0;
  Rope rope, window_rope;  ///< of layers without and with a window
};

class CanvasModel : public Model {
 public:
  /// Checks all tensors, then takes them to the device. Errors name the tensor; a tensor or key that is left over is
  /// one.
  static Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device, CanvasConfig config);

  [[nodiscard]] const ModelShape& shape() const override { return config_.shape; }
  [[nodiscard]] Result<StateLayout> state_layout(const KvTypes& types) const override;
  /// Error (usage): rows that see one another by bits in a network with windows.
  Result<void> enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) override;
  Result<void> enqueue_head(const View& hidden, const PassRows& rows) override;

 private:
  struct Layer {
    RmsNorm attention_norm, query_norm, key_norm, value_norm, attention_out_norm;
    Linear query, key, output;
    std::optional<Linear> value;
    RmsNorm ffn_norm, ffn_branch_norm, expert_norm, expert_branch_norm, ffn_out_norm;
    FeedForward ffn;
    RmsNorm router_norm;  // whose gain is the router's
    Experts experts;
    std::vector<float> expert_scales;  // on the weights that the router gives
  };
  struct Activations {
    View x, normed, delta, expert_out;
    AttentionScratch attention;  // as wide as the widest layer
    FeedForwardScratch ffn;
    MixtureScratch experts;
    View angles, window_angles;
  };
  // Rows of one kind that follow each other.
  struct Run {
    std::size_t first, count;
    bool is_canvas;
  };

  CanvasModel(CanvasConfig config, Device& device);
  Result<void> load_weights(WeightReader& reader);
  Result<void> load_layer(WeightReader& reader, std::size_t index);
  Result<void> load_attention(WeightReader& reader, const std::string& prefix, const AttentionSize& size, Layer& layer);
  Result<void> load_branches(WeightReader& reader, const std::string& prefix, Layer& layer);
  Result<void> load_conditioning(WeightReader& reader);
  Result<RmsNorm> plain_norm(WeightReader& reader, std::size_t size) const;
  Result<Activations> take_activations(std::size_t rows);
  Result<View> take_angles(const Rope& rope, std::span<const std::uint32_t> positions, std::vector<float>& numbers);
  void take_runs(const PassRows& rows);
  Result<void> take_windows(const PassRows& rows);
  Result<void> enter(const PassRows& rows, const Activations& at);
  Result<void> condition(const Run& run, const PassRows& rows, const Activations& at);
  Result<void> run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const;
  void attend(const LayerPass& pass, std::size_t index, const Activations& at) const;
  Result<void> mix(const LayerPass& pass, const Layer& layer, const Activations& at) const;
  Result<void> finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe);

  CanvasConfig config_;
  Device& device_;
  Workspace workspace_;
  OutputHead output_head_;
  std::vector<float> angles_, window_angles_, soft_;
  std::vector<Run> runs_;
  std::vector<RowSight> sights_;  // of layers with a window

  std::unique_ptr<Weight> embedding_;
  std::unique_ptr<Weight> mixing_;  // the embeddings as a matrix [hidden_size, vocab_size]
  RmsNorm conditioning_norm_, entry_norm_;
  FeedForward conditioning_;
  std::vector<Layer> layers_;
  RmsNorm final_norm_;
  std::unique_ptr<Weight> head_;
};

}  // namespace plm
