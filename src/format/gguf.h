// GGUF model files, versions 2 and 3: metadata and named tensors as views into the mapped file, split files joined; and
// the same put together from parts, which is how other layouts of a checkpoint (a Hugging Face folder) become one.
//
// Everything is checked before it is used: after `open` every key, value, name, type, shape and byte range is sound, so
// callers check meaning only. No allocation is larger than the file justifies. Immutable, therefore safe to share
// between threads; every view lives as long as the GgufFile. Source: the GGUF specification (docs/gguf.md of ggml).
// Tested by tests/format/test_gguf.cpp and tests/fuzz/fuzz_gguf.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "format/ggml_type.h"
#include "format/gguf_override.h"
#include "format/gguf_value.h"
#include "format/name_index.h"

namespace plm {

/// What a file may claim at most. Lengths are bounded by the file's size as well, whatever stands here.
struct GgufLimits {
  std::uint64_t metadata_entries = 1U << 20;
  std::uint64_t tensors = 1U << 20;
  std::uint64_t least_tensors = 1;  ///< 0 where a vocabulary alone will do
  std::uint64_t key_bytes = 65535;
  std::uint64_t tensor_name_bytes = 63;
  std::uint64_t alignment = 1U << 30;
  std::uint64_t parts = 1024;
};

struct MetaEntry {
  std::string_view key;
  MetaValue value;
};

/// Makes the bytes of a tensor that does not lie in its file as it is wanted. `out` has exactly the tensor's size.
using TensorMaker = std::function<void(std::span<std::byte> out)>;

struct TensorEntry {
  std::string_view name;
  const GgmlType* type = nullptr;                 ///< never null
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  ///< dims[0] varies fastest (the row length), as in the file
  std::uint32_t rank = 0;                         ///< 1..4
  std::uint32_t part = 0;                         ///< index into GgufFile::parts()
  std::span<const std::byte> bytes;               ///< in the map, aligned as the file says; empty where `make` is set
  std::shared_ptr<const TensorMaker> make;        ///< null for all tensors of a GGUF file; see GgufFile::read

  [[nodiscard]] std::span<const std::uint64_t> shape() const { return {dims.data(), rank}; }
  [[nodiscard]] std::uint64_t element_count() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  [[nodiscard]] std::uint64_t byte_count() const { return *storage_bytes(*type, element_count()); }
};

/// The bytes of one tensor: a view of the map, or memory of their own.
struct TensorBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const AlignedBuffer> owner;  ///< keeps `bytes` alive; null where they are in the map
};

/// One file of a (possibly split) model.
struct GgufPart {
  std::string name;                        ///< path, or the name given to `parse`
  std::shared_ptr<const MappedFile> file;  ///< null for bytes in memory
  std::span<const std::byte> bytes;        ///< the whole file
  std::span<const std::byte> header;       ///< everything before the tensor data: metadata and tensor table
  std::uint32_t version = 0;               ///< 2 or 3
  std::uint64_t alignment = 0;             ///< bytes
};

/// What a GgufFile can be put together from. The tensors of `header` are those of `tensors`, in this order.
struct GgufParts {
  struct Tensor {
    std::span<const std::byte> bytes;  ///< in files[file]; empty where `make` is set
    std::size_t file = 0;
    std::shared_ptr<const TensorMaker> make;
  };
  std::string name;               ///< what errors call the whole
  std::vector<std::byte> header;  ///< as GgufWriter::header writes it
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<std::string> warnings;
};

class GgufFile {
 public:
  /// Maps `path`; a split model is named by its first part, the others are found beside it.
  /// Errors (bad_input) name the file and the field.
  static Result<std::shared_ptr<const GgufFile>> open(const std::string& path, const GgufLimits& limits = {});

  /// The same for bytes in memory, which must outlive the result. Split files are refused.
  static Result<std::shared_ptr<const GgufFile>> parse(std::span<const std::byte> bytes, std::string name,
                                                       const GgufLimits& limits = {});

  /// A file that is nowhere on disk. Errors as of `open`; that bytes and shapes agree is the caller's promise.
  static Result<std::shared_ptr<const GgufFile>> assemble(GgufParts parts, const GgufLimits& limits = {});

  /// The same file with some values of its metadata set: "KEY=VALUE" each, a later one wins. A key that the file has
  /// keeps its type. Errors (usage) name the key.
  static Result<std::shared_ptr<const GgufFile>> overridden(std::shared_ptr<const GgufFile> base,
                                                            std::span<const std::string> settings);
  /// What was set so, in order.
  [[nodiscard]] std::span<const std::shared_ptr<const GgufOverride>> overrides() const { return overrides_; }

  [[nodiscard]] const std::string& path() const { return parts_.front().name; }
  [[nodiscard]] std::span<const GgufPart> parts() const { return parts_; }

  /// Error model_changed when one of the files was written or truncated since it was opened.
  [[nodiscard]] Result<void> unchanged() const;

  /// In file order; of a split model, those of the first part.
  [[nodiscard]] std::span<const MetaEntry> metadata() const { return metadata_; }
  [[nodiscard]] const MetaValue* find(std::string_view key) const;

  /// In file order, part after part.
  [[nodiscard]] std::span<const TensorEntry> tensors() const { return tensors_; }
  [[nodiscard]] const TensorEntry* find_tensor(std::string_view name) const;

  /// The tensor's bytes; those that must be made are made now, and nobody keeps them but the caller. Error no_room.
  [[nodiscard]] Result<TensorBytes> read(const TensorEntry& tensor) const;

  /// Gives back the memory behind a tensor's bytes; touched again, they are read from the file again.
  void release(const TensorEntry& tensor) const;

  /// What is odd but usable: one sentence each, naming the file.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

  // Typed values. Errors (bad_input) name file, key, what was found and what was expected; a missing key is one.
  [[nodiscard]] Result<std::uint64_t> unsigned_value(std::string_view key) const;  ///< any integer type, value >= 0
  [[nodiscard]] Result<double> real_value(std::string_view key) const;  ///< f32 or f64; may be NaN or infinite
  [[nodiscard]] Result<std::string_view> string_value(std::string_view key) const;
  [[nodiscard]] Result<bool> boolean_value(std::string_view key) const;
  [[nodiscard]] Result<StringArray> string_array(std::string_view key) const;
  [[nodiscard]] Result<std::vector<float>> f32_array(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> integer_array(std::string_view key) const;  ///< any integer type

  // The same where the key may be missing; a value of the wrong type stays an error.
  [[nodiscard]] Result<std::optional<std::uint64_t>> optional_unsigned(std::string_view key) const;
  [[nodiscard]] Result<std::optional<double>> optional_real(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string_view>> optional_string(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> optional_boolean(std::string_view key) const;
  [[nodiscard]] Result<std::optional<StringArray>> optional_string_array(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::vector<float>>> optional_f32_array(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> optional_integer_array(std::string_view key) const;

 private:
  GgufFile() = default;
  static Result<std::shared_ptr<GgufFile>> load(std::span<const std::byte> bytes, std::string name,
                                                const GgufLimits& limits);
  static Result<std::shared_ptr<GgufFile>> map_and_load(const std::string& path, const GgufLimits& limits);
  Result<void> join_parts(std::uint64_t count, const GgufLimits& limits);
  Result<void> append_part(const std::string& path, std::uint64_t number, const GgufLimits& limits);
  Result<void> finish(const GgufLimits& limits);

  std::vector<std::byte> owned_header_;  // of an assembled file
  std::vector<GgufPart> parts_;
  std::vector<MetaEntry> metadata_;
  std::vector<TensorEntry> tensors_;
  NameIndex<MetaEntry, &MetaEntry::key> metadata_index_;
  NameIndex<TensorEntry, &TensorEntry::name> tensor_index_;
  std::vector<std::string> warnings_;
  std::shared_ptr<const GgufFile> base_;  // of an overridden file
  std::vector<std::shared_ptr<const GgufOverride>> overrides_;
};

}  // namespace plm
