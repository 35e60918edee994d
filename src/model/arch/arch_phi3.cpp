// Phi-3, Phi-3.5 and Phi-4, dense (arXiv 2404.14219): Llama with fused query-key-value and gate-up tensors, heads
// rotated by halves (Phi-4-mini: in part), a sliding window, and the longrope scaling of the 128k models.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.is_fused = true;
  PLM_TRY_ASSIGN(const std::uint32_t window, read_window(file));
  for (LayerKind& layer : config.layers) layer.window = window;
  return DenseModel::load(file, device, std::move(config));
}

}  // namespace

extern constinit const Architecture arch_phi3 = {
    .head = {.name = "phi3",
             .summary = "dense Phi-3 and Phi-4: Llama with fused tensors, a window, longrope",
             .source = "arXiv 2404.14219"},
    .load = &load,
};

}  // namespace plm
