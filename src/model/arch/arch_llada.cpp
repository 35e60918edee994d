// LLaDA (arXiv 2502.09992): Llama without a causal mask, trained to fill masks anywhere. What a row sees is a property
// of the pass, so the network is Llama's; files hold queries and keys in pairs, as those of llama do. Tested by
// tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  config.rope_layout = RopeLayout::interleaved;
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr DiffusionTraits kTraits{};

}  // namespace

extern constinit const Architecture arch_llada = {
    .head = {.name = "llada",
             .summary = "dense LLaDA: Llama that fills masks anywhere on the page",
             .source = "arXiv 2502.09992"},
    .load = &load,
    .diffusion = &kTraits,
};

}  // namespace plm
