// The tensors of a Hugging Face folder under the names, in the order, shapes and types of GGUF. Part of
// model/checkpoint.h. Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <memory>
#include <vector>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "format/huggingface_folder.h"
#include "model/huggingface_form.h"

namespace plm {

/// One tensor to be written.
struct FolderTensorPlan {
  std::string name;
  const GgmlType* type = nullptr;
  std::vector<std::uint64_t> dims;  ///< dims[0] varies fastest
  GgufParts::Tensor source;
};

/// Tensors that no rule names are left out, with a warning. Errors (bad_input) name file and tensor.
[[nodiscard]] Result<std::vector<FolderTensorPlan>> plan_folder_tensors(
    const std::shared_ptr<const HuggingFaceFolder>& folder, const HuggingFaceForm& form, const CheckpointDraft& draft,
    std::vector<std::string>& warnings);

}  // namespace plm
