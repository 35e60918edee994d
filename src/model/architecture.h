// Architectures: one file each in model/arch/, found through the registry by the name that a model file states.
// Tested by tests/model/test_architecture.cpp.
#pragma once

#include <memory>
#include <span>

#include "base/definition.h"
#include "model/diffusion_traits.h"
#include "model/huggingface_form.h"
#include "model/model.h"
#include "model/model_file.h"

namespace plm {

struct Architecture {
  Definition head;
  /// Reads and checks hyper-parameters and tensors, and takes the weights to the device. Errors name key or tensor.
  Result<std::unique_ptr<Model>> (*load)(ModelFile& file, Device& device);
  /// How its checkpoints look in Hugging Face's layout; null: they are not read.
  const HuggingFaceForm* huggingface = nullptr;
  /// How its networks fill masks, where the file does not say otherwise; null: they are not made for it.
  const DiffusionTraits* diffusion = nullptr;
  bool is_encoder = false;  ///< gives hidden states of a whole text, and writes none
  /// Inside the head that gives scores, where a file has one and does not say.
  std::string_view score_curve = "tanh";
  float score_epsilon = 1e-5F;
};

/// All architectures, sorted by name (generated).
[[nodiscard]] std::span<const Architecture* const> architectures();

/// The architecture that the file names. Error bad_input when it is not known, naming those that are.
[[nodiscard]] Result<const Architecture*> find_architecture(const ModelFile& file);

/// Loads the model in `file` on `device`. Errors: as find_architecture and Architecture::load.
[[nodiscard]] Result<std::unique_ptr<Model>> load_model(ModelFile& file, Device& device);

}  // namespace plm
