// Safetensors files: a JSON header that names tensors, then their bytes without holes.
//
// The rules are those of the format's own strict reader: header at most 100 MB and beginning with '{', no key twice,
// every tensor's bytes equal to shape x dtype, offsets contiguous from 0 to the end of the file. After `open` all of
// that holds. Source: the safetensors format description. Tested by tests/format/test_safetensors.cpp,
// tests/fuzz/fuzz_safetensors.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"

namespace plm {

enum class SafetensorsDtype { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, f8_e4m3 };

/// "F32", "BF16" ... as in the file.
[[nodiscard]] std::string_view safetensors_dtype_name(SafetensorsDtype dtype);

/// Number `index` of `bytes`. `dtype`: f32, f16 or bf16.
[[nodiscard]] float safetensors_float(SafetensorsDtype dtype, std::span<const std::byte> bytes, std::size_t index);

struct SafetensorsEntry {
  SafetensorsDtype dtype = SafetensorsDtype::f32;
  std::vector<std::uint64_t> shape;  ///< outermost first; empty for a scalar; a dimension may be 0
  std::span<const std::byte> bytes;  ///< little-endian, not necessarily aligned
};

class SafetensorsFile {
 public:
  /// Errors (bad_input) name the file and the tensor.
  static Result<std::shared_ptr<const SafetensorsFile>> open(const std::string& path);

  /// The same for bytes in memory, which must outlive the result.
  static Result<std::shared_ptr<const SafetensorsFile>> parse(std::span<const std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& path() const { return name_; }
  /// Null for bytes in memory.
  [[nodiscard]] const std::shared_ptr<const MappedFile>& mapped() const { return file_; }
  /// By name; std::map because readers list them sorted.
  [[nodiscard]] const std::map<std::string, SafetensorsEntry, std::less<>>& tensors() const { return tensors_; }
  /// nullptr when there is none of that name.
  [[nodiscard]] const SafetensorsEntry* find(std::string_view name) const;
  /// The header's "__metadata__".
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  SafetensorsFile() = default;
  static Result<std::shared_ptr<SafetensorsFile>> load(std::span<const std::byte> bytes, std::string name);
  Result<void> read(std::span<const std::byte> bytes);

  std::string name_;
  std::shared_ptr<const MappedFile> file_;  // null for bytes in memory
  std::map<std::string, SafetensorsEntry, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace plm
