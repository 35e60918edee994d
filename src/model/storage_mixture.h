// Which storage type each tensor of a file gets when the file is quantised to one type.
//
// The choices are those that llama.cpp makes for the same name (Q4_K there is Q4_K_M), so that files compare: what
// suffers most gets more bits, vectors and small matrices stay as they are, and a row that does not fill whole quant
// blocks falls back to a type with smaller ones. Not taken over are its rules for single models and for mixtures of
// experts. Source: llama.cpp's quantiser (October 2026); the mixtures as data are ours.
// Tested by tests/model/test_storage_mixture.cpp against files that llama.cpp made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/gguf.h"
#include "tensor/storage_type.h"

namespace plm {

/// Names of all types that a file can be quantised to, separated by ", ".
[[nodiscard]] std::string mixture_names();

/// The type that a mixture is named after, by any spelling: "q4_k", "Q4_K", "Q4_K_M"; null when there is none.
[[nodiscard]] const StorageType* find_mixture(std::string_view name);

class StorageMixture {
 public:
  /// `pure`: all matrices get the type itself, but for rows that do not fill its blocks.
  StorageMixture(const GgufFile& file, const StorageType& type, bool pure);

  /// The type that the tensor is to be written in; the one that it has when it is not to be touched.
  [[nodiscard]] const GgmlType& type_of(const TensorEntry& tensor) const;

  /// The number that general.file_type has for the mixture.
  [[nodiscard]] std::uint32_t file_type() const;

 private:
  [[nodiscard]] const StorageType* wanted(std::string_view name, std::uint64_t row) const;

  const StorageType& type_;
  bool pure_;
  bool is_tied_;      // the embedding is the head as well
  bool shares_keys_;  // four queries or more for each key
  std::uint64_t layers_ = 0;
};

}  // namespace plm
