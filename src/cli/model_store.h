// Models by name: the catalogue that ships with the program, and the folder that fetched models lie in.
//
// The folder is $PLM_CACHE, else ~/.cache/plm:
//   NAME.gguf, NAME/                  by short name (models/catalog.json), by address, or put there by hand
//   NAME-00001-of-00003.gguf, ...     a split model called NAME
//   hub/OWNER/REPO/                   a repository of the model hub: GGUF files, or a folder with config.json
//   .NAME.gguf.json                   where a file came from
//   .partial/                         what has not arrived in full
// tools/fetch_hub.py and tools/fetch_packages.py write it. Tested by tests/cli/test_model_store.cpp.
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
/// The models that can be fetched by a short name.
[[nodiscard]] std::vector<CatalogEntry> catalog();

/// Where fetched models lie. Error (usage) when neither PLM_CACHE nor HOME is set.
[[nodiscard]] Result<std::string> cache_folder();

struct FetchedModel {
  std::string name;    ///< what resolve_model takes: NAME, owner/repo or owner/repo:FILE
  std::string path;    ///< a GGUF file (the first one of a split model) or a folder
  std::string source;  ///< "catalogue", "hub", an address, or "local": nobody knows
  std::uint64_t bytes = 0;
  std::vector<std::string> files;  ///< all that belongs to it
};
/// Sorted by name; empty when the folder is not there yet.
[[nodiscard]] Result<std::vector<FetchedModel>> fetched_models();

/// The fetched model that a name means; of a hub's repository, owner/repo:FILE or owner/repo:QUANTISATION chooses among
/// several. Errors (bad_input) say what was looked for and how to get it.
[[nodiscard]] Result<FetchedModel> find_fetched(std::string_view name);

/// Deletes the files of a model, and the folders that are empty then. Error (failed): a file that cannot be deleted.
[[nodiscard]] Result<void> remove_fetched(const FetchedModel& model);

struct Unfinished {
  std::string path;  ///< the folder of what has not arrived in full
  std::uint64_t bytes = 0;
};
[[nodiscard]] Result<Unfinished> unfinished_downloads();

/// The file or folder that MODEL means: a path, else the name of a fetched model. Errors: those of find_fetched;
/// (usage) when `model` is empty.
[[nodiscard]] Result<std::string> resolve_model(std::string_view model);

}  // namespace plm
