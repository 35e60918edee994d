// Tensors of a Hugging Face folder whose numbers change on their way: rows that move, are left out or get factors,
// functions of single numbers, vectors that become matrices. Part of model/folder_tensors.h.
// Tested by tests/model/test_checkpoint.cpp.
#pragma once

#include <memory>

#include "model/folder_tensors.h"

namespace plm {

/// Whether the rule asks for more than another name.
[[nodiscard]] inline bool has_changes(const TensorRule& rule) {
  return rule.rows != nullptr || rule.numbers != NumberChange::none || !rule.folded.empty();
}

/// `tensor`, of a type that holds plain numbers, as the rule wants it. Errors (bad_input) name the file and the tensor.
[[nodiscard]] Result<FolderTensorPlan> plan_mapped_rows(const std::shared_ptr<const HuggingFaceFolder>& folder,
                                                        const FolderTensor& tensor, const TensorRule& rule,
                                                        std::string name);

}  // namespace plm
