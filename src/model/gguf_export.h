// Writes a model as a GGUF file, its tensors as they are or in other storage types.
//
// Tensors go by one after another and a large one in slices of rows, each packed by a team of threads, so memory is
// bounded by one tensor (of which a mapped one costs nothing) and a slice. The bytes depend on neither threads nor
// slices. Tested by tests/model/test_gguf_export.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "base/thread_team.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "tensor/storage_type.h"

namespace plm {

struct ExportOptions {
  const StorageType* type = nullptr;  ///< null: every tensor stays as it is
  bool pure = false;                  ///< see StorageMixture
  std::function<void(double fraction)> on_progress = {};
  std::function<bool()> interrupted = {};  ///< asked between slices
};

struct ExportSummary {
  std::uint64_t bytes_read = 0;  ///< of tensors
  std::uint64_t bytes_written = 0;
  std::uint64_t fallbacks = 0;  ///< matrices whose rows do not fill the blocks of the type that was meant for them
  std::map<std::string, std::uint64_t> tensors_by_type = {};
};

/// Writes `keys`, which says what file_type is not (that is set here), and the tensors of `file` to `path`. Errors:
/// usage (`path` is the file itself, or no place for a file), bad_input (a tensor that cannot be unpacked or holds no
/// numbers), no_room, failed, interrupted. After an error there is no new file.
[[nodiscard]] Result<ExportSummary> export_gguf(const GgufFile& file, GgufWriter keys, const std::string& path,
                                                const ExportOptions& options, ThreadTeam& team);

}  // namespace plm
