// SmolLM3 (Bakouch et al., 2025): Llama in which every fourth layer knows no positions (NoPE, arXiv 2501.18795).
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr std::size_t kNoRopeInterval = 4;  // the file has no key for it

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(refuse_window(file, config));
  for (std::size_t i = kNoRopeInterval - 1; i < config.layers.size(); i += kNoRopeInterval) {
    config.layers[i].rope = LayerKind::kNoRope;
  }
  return DenseModel::load(file, device, std::move(config));
}

}  // namespace

extern constinit const Architecture arch_smollm3 = {
    .head = {.name = "smollm3",
             .summary = "SmolLM3: Llama without positions in every fourth layer",
             .source = "arXiv 2501.18795"},
    .load = &load,
};

}  // namespace plm
