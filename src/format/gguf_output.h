// A GGUF file on its way to disk: the header first, then the bytes of the tensors as they come, in pieces of any size.
//
// The file appears whole or not at all: it grows beside its final place under a temporary name and is renamed when all
// of it is on the disk; whatever goes wrong before, nothing is left. Memory: what the caller holds, no more.
// Tested by tests/format/test_gguf_output.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/gguf_writer.h"

namespace plm {

class GgufOutput {
 public:
  /// Begins the file that `contents` describes. Errors: no_room (the disk has fewer bytes free than the file takes),
  /// failed (cannot be created).
  static Result<GgufOutput> create(const std::string& path, const GgufWriter& contents);

  GgufOutput(GgufOutput&& other) noexcept;
  GgufOutput& operator=(GgufOutput&&) = delete;
  ~GgufOutput();

  /// The next bytes of the tensors, in the order of the header; the padding between them is added here. A piece belongs
  /// to one tensor. Errors: no_room, failed.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);

  /// After the last byte: gives the file its name, replacing one that had it. Errors: no_room, failed.
  [[nodiscard]] Result<void> finish();

 private:
  explicit GgufOutput(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> pad();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;  // -1: nothing to tidy up
  std::uint64_t alignment_ = 0;
  std::vector<std::uint64_t> sizes_;  // of the tensors
  std::size_t tensor_ = 0;            // the one being written
  std::uint64_t written_ = 0;         // bytes of it
};

}  // namespace plm
