// Qwen3, dense (arXiv 2505.09388): Llama with heads of a size of their own, each query and key head normalised before
// it is rotated, by halves. SDAR's block diffusion checkpoints are this network too.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  config.query_key_norm = QueryKeyNorm::per_head;
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout.
constexpr CheckpointClass kClasses[] = {
    {"Qwen3ForCausalLM", "qwen3"},
    {"Qwen3Model", "qwen3"},
    {"Qwen3ForSequenceClassification", "qwen3", true},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(refuse_windows(draft.config));
  return complete_dense_draft(draft);
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kNormsBefore, complete_draft);

}  // namespace

extern constinit const Architecture arch_qwen3 = {
    .head = {.name = "qwen3",
             .summary = "dense Qwen3: Llama with normalised queries and keys",
             .source = "arXiv 2505.09388"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
