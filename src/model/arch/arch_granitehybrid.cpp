// Granite 4, hybrid: most layers a Mamba-2 mixer, a few attention, mostly without positions; experts and a shared
// network, or that alone; factors on embeddings, branches, scores and logits. Source: the model cards of
// granite-4.0-h, and arXiv 2405.21060 for its mixer. Tested by tests/model/test_hybrids.cpp against an independent
// float32 oracle.
#include <algorithm>

#include "model/architecture.h"
#include "model/layers/hybrid_model.h"

namespace plm {
namespace {

constexpr double kMostScale = 1e6;

Result<void> read_scales(const ModelFile& file, HybridConfig& config) {
  PLM_TRY_ASSIGN(const double embedding, file.positive_real_or("embedding_scale", 1, kMostScale));
  PLM_TRY_ASSIGN(const double residual, file.positive_real_or("residual_scale", 1, kMostScale));
  PLM_TRY_ASSIGN(const double logit, file.positive_real_or("logit_scale", 1, kMostScale));
  config.embedding_scale = static_cast<float>(embedding);
  config.residual_scale = static_cast<float>(residual);
  config.logit_scale = static_cast<float>(1 / logit);  // logits are divided by it
  return {};
}

// Which layers have attention: those with key and value heads.
Result<void> read_mixers(ModelFile& file, HybridConfig& config) {
  PLM_TRY_ASSIGN(const std::vector<std::size_t> heads, read_kv_heads(file, config.shape.layer_count));
  const std::size_t most = *std::ranges::max_element(heads);
  for (const std::size_t count : heads) {
    if (count != 0 && count != most) {
      return file.key_error("attention.head_count_kv", fmt::format("{} and {}", count, most),
                            "the same in all layers that have attention");
    }
    config.mixers.push_back(count == 0 ? Mixer::mamba : Mixer::attention);
  }
  if (most == 0) return {};
  PLM_TRY(read_hybrid_attention(file, most, config));
  PLM_TRY_ASSIGN(Rope rope, Rope::from_file(file, config.attention.head_dim, config.shape.trained_context));
  // The key says whether there are positions at all.
  PLM_TRY_ASSIGN(const bool is_rotated, file.boolean_or("rope.scaling.finetuned", true));
  if (is_rotated) config.rope = std::move(rope);
  return {};
}

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(HybridConfig config, read_hybrid_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(read_mixers(file, config));
  PLM_TRY(read_scales(file, config));
  PLM_TRY_ASSIGN(config.recurrent, RecurrentSize::from_file(file, config.shape.hidden_size));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer("feed_forward_length", {1, kMostSize}));
  return HybridModel::load(file, device, std::move(config));
}

}  // namespace

extern constinit const Architecture arch_granitehybrid = {
    .head = {.name = "granitehybrid",
             .summary = "Granite 4: Mamba-2 layers with attention between them, experts, a shared network",
             .source = "arXiv 2405.21060"},
    .load = &load,
};

}  // namespace plm
