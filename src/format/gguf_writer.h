// Writes GGUF version 3 files: metadata and tensors are collected in order, then laid out once. Tensors too large to
// collect are only announced here, and GgufOutput takes their bytes as they come.
//
// What it writes, GgufFile reads back equal. Names and values come from our own code or from a reader that checked
// them, so a bad one is a broken invariant. Tested by tests/format/test_gguf_writer.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "format/ggml_type.h"
#include "format/gguf_value.h"

namespace plm {

class GgufWriter {
 public:
  // Metadata, in the order of the calls; a key given again replaces its value in place.
  // u32 "general.alignment" (default 32) sets the alignment of the tensors in bytes: a power of two, at least 8.
  void add_u32(std::string_view key, std::uint32_t value);
  void add_i32(std::string_view key, std::int32_t value);
  void add_u64(std::string_view key, std::uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_boolean(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_u32s(std::string_view key, std::span<const std::uint32_t> values);
  void add_i32s(std::string_view key, std::span<const std::int32_t> values);
  void add_booleans(std::string_view key, const std::vector<bool>& values);
  void add_f32s(std::string_view key, std::span<const float> values);
  void add_strings(std::string_view key, std::span<const std::string_view> values);
  void add(std::string_view key, const MetaValue& value);  ///< a copy of what a reader found

  /// `dims[0]` varies fastest; `bytes` are copied and must be what shape and type make.
  void add_tensor(std::string_view name, const GgmlType& type, std::span<const std::uint64_t> dims,
                  std::span<const std::byte> bytes);

  /// A place in the tensor table, whose bytes are given to a GgufOutput later. All tensors or none are announced.
  void announce_tensor(std::string_view name, const GgmlType& type, std::span<const std::uint64_t> dims);

  /// Everything before the bytes of the tensors, with the padding behind it.
  [[nodiscard]] std::vector<std::byte> header() const;

  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  /// Bytes of each tensor, in order, without padding.
  [[nodiscard]] std::vector<std::uint64_t> tensor_sizes() const;

  /// The whole file.
  [[nodiscard]] std::vector<std::byte> bytes() const;

  /// Errors: failed (cannot be created), no_room (cannot be written to the end).
  /// The file appears whole or not at all (see GgufOutput).
  [[nodiscard]] Result<void> write(const std::string& path) const;

 private:
  struct Entry {
    std::string key;
    std::vector<std::byte> value;  // as in the file: type, then content
  };
  struct Tensor {
    std::string name;
    const GgmlType* type;
    std::vector<std::uint64_t> dims;
    std::uint64_t size = 0;        // of its bytes
    std::vector<std::byte> bytes;  // empty when they are only announced
  };

  std::uint64_t alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::unordered_set<std::string> names_;  // of the tensors
};

}  // namespace plm
