// Qwen2 and Qwen2.5 (arXiv 2407.10671): Llama with biases on query, key and value, and heads rotated by halves.
// Tested by tests/model/test_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file));
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

// The checkpoints in Hugging Face's layout. A reward model judges texts, a process reward model the steps of a
// solution.
constexpr CheckpointClass kClasses[] = {
    {"Qwen2ForCausalLM", "qwen2"},
    {"Qwen2Model", "qwen2"},
    {"Qwen2ForSequenceClassification", "qwen2", true},
    {"Qwen2ForRewardModel", "qwen2", true},
    {"Qwen2ForProcessRewardModel", "qwen2", true},
};

Result<void> complete_draft(CheckpointDraft& draft) {
  PLM_TRY(demand_text(draft.config, "hidden_act", "silu"));
  PLM_TRY(refuse_windows(draft.config));
  return complete_dense_draft(draft);
}

constexpr HuggingFaceForm kForm = dense_form(kClasses, kNormsBefore, complete_draft);

}  // namespace

extern constinit const Architecture arch_qwen2 = {
    .head = {.name = "qwen2",
             .summary = "Qwen2 and Qwen2.5: Llama with biases on query, key and value",
             .source = "arXiv 2407.10671"},
    .load = &load,
    .huggingface = &kForm,
};

}  // namespace plm
