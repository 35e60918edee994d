// A model file as an architecture reads it: hyper-parameters by their short name with a range, tensors by name and
// shape. Every error names the file, the key or tensor, what was found and what was expected.
// Tested by tests/model/test_model_file.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "format/gguf.h"
#include "tensor/storage_type.h"

namespace plm {

/// Inclusive bounds of a hyper-parameter.
struct IntegerRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::uint64_t{1} << 32;
};

/// Shape of a matrix, or of several in one tensor; a vector has one output row.
struct MatrixSize {
  std::size_t outputs = 1;
  std::size_t inputs = 0;
  std::size_t count = 1;
};

class ModelFile {
 public:
  /// Errors: general.architecture missing, not a string, or empty.
  static Result<ModelFile> open(std::shared_ptr<const GgufFile> file);

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] const GgufFile& gguf() const { return *file_; }

  /// Tokens that a sequence may have, as the engine is configured; 0: not told, as many as the model was trained with.
  /// Rotations that depend on length are chosen by it.
  void set_configured_context(std::size_t tokens) { configured_context_ = tokens; }
  [[nodiscard]] std::size_t configured_context() const { return configured_context_; }

  // Keys are given without the architecture's prefix: "block_count" reads "llama.block_count".
  [[nodiscard]] bool has_key(std::string_view key) const;
  [[nodiscard]] Result<std::size_t> integer(std::string_view key, IntegerRange range) const;
  [[nodiscard]] Result<std::size_t> integer_or(std::string_view key, std::size_t otherwise, IntegerRange range) const;
  /// A number above 0 and at most `highest`.
  [[nodiscard]] Result<double> positive_real(std::string_view key, double highest) const;
  [[nodiscard]] Result<double> positive_real_or(std::string_view key, double otherwise, double highest) const;
  /// A number from 0 to 1.
  [[nodiscard]] Result<double> share_or(std::string_view key, double otherwise) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] bool is_array(std::string_view key) const;
  /// An array of `count` truth values.
  [[nodiscard]] Result<std::vector<bool>> booleans(std::string_view key, std::size_t count) const;
  /// An array of `count` integers.
  [[nodiscard]] Result<std::vector<std::size_t>> integers(std::string_view key, std::size_t count,
                                                          IntegerRange range) const;
  [[nodiscard]] Result<std::string> text_or(std::string_view key, std::string_view otherwise) const;
  /// The strings of an array; empty when it is not there.
  [[nodiscard]] Result<std::vector<std::string>> texts_or_none(std::string_view key) const;
  /// "FILE: llama.head_count = 3: must divide ..." for rules that relate several keys.
  [[nodiscard]] tl::unexpected<Error> key_error(std::string_view key, std::string_view found,
                                                std::string_view rule) const;

  struct Tensor {
    const TensorEntry* entry;
    const StorageType* type;
  };
  [[nodiscard]] bool has_tensor(std::string_view name) const { return file_->find_tensor(name) != nullptr; }
  /// The tensor of this shape. Errors: missing, other shape, a storage type that cannot be used.
  [[nodiscard]] Result<Tensor> tensor(const std::string& name, MatrixSize size);

  /// One more than the highest N of the tensors "blk.N...".
  [[nodiscard]] std::size_t layers_in_file() const;

  /// Told, tensor by tensor, which share of the file's tensor bytes is on the device.
  void set_progress(std::function<void(double fraction)> progress);
  /// To be called when a tensor has been taken in: its part of the file need not stay in memory. Counts once.
  void tell_taken(const TensorEntry& entry);

  /// Error when the file holds what nothing asked for: a tensor of the network, or a key of the architecture that says
  /// how to compute, or an override.
  /// It is a variant that would not be computed as its makers meant it. To be called before weights cost anything.
  [[nodiscard]] Result<void> refuse_unread() const;
  /// Warns of the other tensors that nothing asked for: the first by name, the others by number.
  void warn_about_unused_tensors();
  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] std::size_t parameter_count() const;

 private:
  // Notes that the key has been asked for.
  [[nodiscard]] std::string full_key(std::string_view key) const;
  [[nodiscard]] std::string keys_that_say(std::uint64_t value) const;
  [[nodiscard]] tl::unexpected<Error> shape_error(const TensorEntry& entry, MatrixSize expected) const;

  std::shared_ptr<const GgufFile> file_;
  std::string architecture_;
  std::unordered_set<std::string> used_;           // tensors asked for
  std::unordered_set<std::string> taken_;          // on the device
  mutable std::unordered_set<std::string> asked_;  // keys, with the architecture's prefix
  std::vector<std::string> warnings_;
  std::function<void(double)> progress_;
  std::size_t configured_context_ = 0;
  std::size_t bytes_taken_ = 0;
  std::size_t all_bytes_ = 0;  // of the tensors, once there is someone to tell
};

}  // namespace plm
