// Dream and DiffuCoder (arXiv 2508.15487, 2506.20639): Qwen2's network without a causal mask, trained to fill masks;
// row i - 1 speaks for position i, as in the causal model it was made from. Tested by
// tests/model/test_masked_families.cpp against an independent float32 oracle.
#include "model/architecture.h"
#include "model/diffusion_form.h"
#include "model/layers/dense_form.h"
#include "model/layers/dense_model.h"

namespace plm {
namespace {

Result<std::unique_ptr<Model>> load(ModelFile& file, Device& device) {
  PLM_TRY_ASSIGN(DenseConfig config, read_dense_config(file, Reading::whole_page));
  PLM_TRY(refuse_window(file, config));
  return DenseModel::load(file, device, std::move(config));
}

constexpr DiffusionTraits kTraits{.shifts_logits = true, .mask_token = 151666};

constexpr CheckpointClass kClasses[] = {{"DreamModel", "Dream"}};

Result<void> complete_draft(CheckpointDraft& draft) { return complete_diffusion_draft(draft, kTraits); }

constexpr HuggingFaceForm kForm = dense_form(kClasses, kNormsBefore, complete_draft);

}  // namespace

extern constinit const Architecture arch_dream = {
    .head = {.name = "dream",
             .summary = "Dream and DiffuCoder: Qwen2 that fills masks anywhere on the page",
             .source = "arXiv 2508.15487"},
    .load = &load,
    .huggingface = &kForm,
    .diffusion = &kTraits,
};

}  // namespace plm
