// A folder as Hugging Face's libraries save a checkpoint: config.json, weights in one safetensors file or in shards
// with an index, and the texts around them (tokeniser, chat template, generation settings).
//
// This is the layout only: which files there are and which tensor lies in which. What the settings and names mean is
// the affair of model/checkpoint.h. Immutable; views of tensors live as long as the folder.
// Tested by tests/format/test_huggingface_folder.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/config_reader.h"
#include "format/safetensors.h"

namespace plm {

struct FolderLimits {
  std::uint64_t text_bytes = 64U << 20;
  std::uint64_t shards = 4096;
};

/// One tensor and the shard it lies in.
struct FolderTensor {
  std::string_view name;
  const SafetensorsEntry* entry = nullptr;
  std::size_t shard = 0;  ///< index into HuggingFaceFolder::shards()
};

class HuggingFaceFolder {
 public:
  /// Opens the weights and reads config.json, where there are any. Errors (bad_input) name the file and the field.
  static Result<std::shared_ptr<const HuggingFaceFolder>> open(const std::string& path,
                                                               const FolderLimits& limits = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  /// config.json; nullopt when the folder has none.
  [[nodiscard]] const std::optional<ConfigReader>& config() const { return config_; }

  /// Sorted by name; empty when the folder has no weights.
  [[nodiscard]] const std::vector<FolderTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<std::shared_ptr<const SafetensorsFile>>& shards() const { return shards_; }
  /// nullptr when there is none of that name.
  [[nodiscard]] const FolderTensor* find_tensor(std::string_view name) const;

  /// The text of `name` in the folder; nullopt when there is no such file. Error bad_input: unreadable, too large.
  [[nodiscard]] Result<std::optional<std::string>> read_text(std::string_view name) const;

 private:
  HuggingFaceFolder(std::string path, const FolderLimits& limits) : path_(std::move(path)), limits_(limits) {}
  [[nodiscard]] std::string path_of(std::string_view name) const;
  Result<void> open_weights();
  Result<void> open_shards(const std::string& index_name, const std::string& index);
  Result<void> add_shard(const std::string& name);

  std::string path_;
  FolderLimits limits_;
  std::optional<ConfigReader> config_;
  std::vector<std::shared_ptr<const SafetensorsFile>> shards_;
  std::vector<FolderTensor> tensors_;
};

}  // namespace plm
