// Qwen2 and Qwen2.5 (arXiv 2407.10671): Llama with biases on query, key and value, and heads rotated by halves.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

}  // namespace

extern constinit const Architecture arch_qwen2 = {
    .head = {.name = "qwen2",
             .summary = "Qwen2 and Qwen2.5: Llama with biases on query, key and value",
             .source = "arXiv 2407.10671"},
    .load = &load,
};

}  // namespace plm
