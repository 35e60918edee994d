// Mixture of experts in place of a feed-forward network (Shazeer et al., arXiv 1701.06538; Mixtral, arXiv 2401.04088):
// a router chooses k of many small feed-forward networks for each row and weighs what they give. Some families add an
// expert that every row shares (DeepSeek, arXiv 2401.06066), some with a gate of its own (Qwen2).
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/layers/feed_forward.h"

namespace plm {

/// The experts of every layer that has some.
struct ExpertsConfig {
  std::size_t count = 0;
  std::size_t ffn_size = 0;         ///< of one expert
  std::size_t shared_ffn_size = 0;  ///< of the expert that all rows share; 0: none
  bool has_shared_gate = false;
  RouterRule rule;
  Activation activation = Activation::silu;
};

/// Buffers of one pass, reused by every layer.
struct MixtureScratch {
  View scores;   ///< [rows, experts]
  View routing;  ///< [rows, 2 * k], see Device::route
  ExpertScratch experts;
  FeedForwardScratch shared;  ///< [rows, shared_ffn_size]
  View shared_out;            ///< [rows, hidden_size]
  View shared_gate;           ///< [rows, 1]
};

/// Reads the keys expert_*; what the file leaves out is as `config` says. Errors name the key: no experts, fewer of
/// them than a row uses, groups that do not divide them.
[[nodiscard]] Result<ExpertsConfig> read_experts(const ModelFile& file, ExpertsConfig config);

struct Experts {
  ExpertsConfig config;
  Linear router;
  std::unique_ptr<Weight> choice_bias;  ///< [experts] on scores when experts are chosen, or null
  std::unique_ptr<Weight> gate, up, down, gate_bias, up_bias, down_bias;
  std::optional<FeedForward> shared;
  std::unique_ptr<Weight> shared_gate;  ///< [1, hidden_size] or null

  /// Reads PREFIX.ffn_gate_inp, exp_probs_b, ffn_{gate,up,down}_exps (or ffn_gate_up_exps, or, as in old files, a
  /// tensor for each expert), ffn_{gate,up,down}_shexp and ffn_gate_inp_shexp.
  Result<void> load(WeightReader& reader, const std::string& prefix, std::size_t hidden_size);

  /// in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, const MixtureScratch& scratch, const View& in, const View& out) const;

 private:
  Result<void> load_experts(WeightReader& reader, const std::string& prefix, std::size_t hidden_size);
  Result<void> load_shared(WeightReader& reader, const std::string& prefix, std::size_t hidden_size);
};

}  // namespace plm
