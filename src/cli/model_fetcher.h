// plm fetch, as the program sees it: the scripts tools/fetch_*.py travel inside the binary and are run by python3.
//
// What must stay true: nothing of the request goes through a shell; the token of the hub is in a file and never in an
// argument (docs/decisions/0003-fetching-models.md). Tested by tests/cli/test_fetch.py.
#pragma once

#include <string>

#include "base/error.h"

namespace plm {

struct FetchRequest {
  std::string model;       ///< a short name, owner/repo[:FILE], or an http(s) address
  std::string name;        ///< what an address is called here; empty: as its file
  std::string sha256;      ///< what the file behind an address must be; empty: not known
  std::string token_file;  ///< empty: where the hub's own programs keep it
};

/// Brings a model here. The scripts print the path to stdout and messages to stderr; returns their exit code (DESIGN
/// section 8). Errors: (failed) no process; those of cache_folder.
[[nodiscard]] Result<int> fetch_model(const FetchRequest& request);

}  // namespace plm
