// A read-only memory map of a whole file, opened once and never again by path.
//
// A file that shrinks under a live map raises SIGBUS on the next touch. `MappedFile` registers its range, and the
// handler that `install_map_guard` puts in place turns such a fault into a message that names the file and exit code 7,
// instead of a core dump. `unchanged` compares size and time with those at opening, and the file that now has the name.
// Tested by tests/base/test_mapped_file.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace plm {

class MappedFile {
 public:
  /// Opens and maps `path`. Errors (bad_input): missing, a directory, a pipe or device, empty, unreadable.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Error model_changed when the file was truncated, written or replaced since it was opened.
  [[nodiscard]] Result<void> unchanged() const;

  /// Tells the kernel that the bytes will be read once, front to back, soon.
  void expect_sequential_read() const;

  /// Lets the kernel take back the memory of these bytes of the map; they are read from the file again when touched.
  void release(std::span<const std::byte> bytes) const;

 private:
  MappedFile() = default;

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
  std::int64_t modified_ns_ = 0;
  int guard_slot_ = -1;
};

/// Installs the SIGBUS handler described above. Called once by programs that own the process (the command line).
void install_map_guard();

}  // namespace plm
