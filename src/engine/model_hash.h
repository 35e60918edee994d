// Which model this is: SHA-256 of its headers (metadata and tensor table) and of its files' whole contents.
//
// Reading gigabytes takes seconds, so the hash of a content is remembered in a JSON file under the file's device,
// inode, size and time of change; whoever changes the bytes changes one of these. A memory that cannot be read or
// written only costs the time. Tested by tests/engine/test_model_hash.cpp.
#pragma once

#include <functional>
#include <string>

#include "format/gguf.h"

namespace plm {

struct ModelHash {
  std::string header, content;  ///< in hexadecimal
};

struct HashOptions {
  std::string memory = {};                                ///< path of the JSON file; empty: nothing is remembered
  std::function<void(double fraction)> on_progress = {};  ///< told how much has been read, when something must be
};

/// Of a split model or a folder, over all its files. Error (model_changed): a file changed while it was read.
[[nodiscard]] Result<ModelHash> model_hash(const GgufFile& file, const HashOptions& options = {});

}  // namespace plm
