// Architectures: one file each in model/arch/, found through the registry by the name that a model file states.
// Tested by tests/model/test_architecture.cpp.
#pragma once

#include <memory>
#include <span>

#include "base/definition.h"
#include "model/model.h"
#include "model/model_file.h"

namespace plm {

struct Architecture {
  Definition head;
  /// Reads and checks hyper-parameters and tensors, and takes the weights to the device. Errors name key or tensor.
  Result<std::unique_ptr<Model>> (*load)(ModelFile& file, Device& device);
};

/// All architectures, sorted by name (generated).
[[nodiscard]] std::span<const Architecture* const> architectures();

/// Loads the model in `file` on `device`. Error bad_input for an architecture that is not known, naming those that are.
[[nodiscard]] Result<std::unique_ptr<Model>> load_model(ModelFile& file, Device& device);

}  // namespace plm
