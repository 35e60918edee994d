// Models by name: the catalogue that ships with the program, and the folder that fetched files lie in.
//
// The folder is $PLM_CACHE, else ~/.cache/plm; a model NAME lies there as NAME.gguf.
// Tested by tests/cli/test_model_store.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

struct CatalogEntry {
  std::string name, summary, licence;
  std::uint64_t bytes = 0;
};
/// The models that can be fetched by name.
[[nodiscard]] std::vector<CatalogEntry> catalog();

/// Where fetched models lie. Error (usage) when neither PLM_CACHE nor HOME is set.
[[nodiscard]] Result<std::string> cache_folder();

struct FetchedModel {
  std::string name, path;
  std::uint64_t bytes = 0;
};
/// Sorted by name; empty when the folder is not there yet.
[[nodiscard]] Result<std::vector<FetchedModel>> fetched_models();

/// The file that MODEL means: a path, else the name of a fetched model. Errors (bad_input) say what was looked for and
/// how to get it; (usage) when `model` is empty.
[[nodiscard]] Result<std::string> resolve_model(std::string_view model);

/// Runs the fetching script for `name`; its messages go to stderr. Returns its exit code (DESIGN section 8).
[[nodiscard]] Result<int> fetch_model(const std::string& name);

}  // namespace plm
