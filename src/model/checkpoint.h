// A model on disk, whatever its layout: a GGUF file as it is, a Hugging Face folder as the GGUF file that it would be.
//
// The translation gives keys and tensors the names and values that llama.cpp's converter writes. Tensors stay where
// they are, in the mapped safetensors files; where values must move or change their type, that is done when the tensor
// is read, one at a time, so that a folder costs no more memory than a file. The texts of the tokeniser are handed on
// as they are (keys tokenizer.huggingface.*), for the text room to interpret. Nothing else in the program knows
// folders. Tested by tests/model/test_checkpoint.cpp and tests/fuzz/fuzz_checkpoint.cpp.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "format/gguf.h"

namespace plm {

class HuggingFaceFolder;

/// What a checkpoint is opened for, which decides what may be missing.
enum class CheckpointUse {
  model,       ///< to be run or written: everything
  inspection,  ///< to be looked at: a folder may lack its weights
  vocabulary,  ///< its tokeniser: a file may have no tensors, a folder neither weights nor a known architecture
};

/// Errors (bad_input) name the file and the field.
[[nodiscard]] Result<std::shared_ptr<const GgufFile>> open_checkpoint(const std::string& path,
                                                                      CheckpointUse use = CheckpointUse::model);

/// The folder as a GGUF file that is nowhere on disk.
[[nodiscard]] Result<std::shared_ptr<const GgufFile>> translate_folder(std::shared_ptr<const HuggingFaceFolder> folder,
                                                                       CheckpointUse use);

}  // namespace plm
