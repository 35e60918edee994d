// Fast-dLLM v2 (arXiv 2509.26328): Qwen2.5's network, made to fill masks block by block. Rows of a block see one
// another and all blocks before it; row i - 1 speaks for position i, so that the first position of a block is what the
// causal model would write there. Tested by tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

constexpr DiffusionTraits kTraits{
    .attention = DiffusionAttention::block_causal, .shifts_logits = true, .block_length = 32, .mask_token = 151665};

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr CheckpointClass kClasses[] = {{"Fast_dLLM_QwenForCausalLM", "Fast_dLLM_Qwen"}};

Result<void> complete_draft(CheckpointDraft& draft) { return complete_diffusion_draft(draft, kTraits); }

constexpr HuggingFaceForm kForm = dense_form(kClasses, kNormsBefore, complete_draft);

}  // namespace

extern constinit const Architecture arch_fast_dllm_v2 = {
    .head = {.name = "fast-dllm-v2",
             .aliases = "fast_dllm_v2",
             .summary = "Fast-dLLM v2: Qwen2.5 that fills masks block by block",
             .source = "arXiv 2509.26328"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
