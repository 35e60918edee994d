#include "format/huggingface_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "format/safetensors_index.h"

namespace plm {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

}  // namespace

Result<std::shared_ptr<const HuggingFaceFolder>> HuggingFaceFolder::open(const std::string& path,
                                                                         const FolderLimits& limits) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  std::shared_ptr<HuggingFaceFolder> folder(new HuggingFaceFolder(std::move(name), limits));
  PLM_TRY_ASSIGN(const auto config, folder->read_text(kConfig));
  if (config) {
    PLM_TRY_ASSIGN(folder->config_, ConfigReader::parse(*config, folder->path_of(kConfig)));
  }
  PLM_TRY(folder->open_weights());
  return folder;
}

std::string HuggingFaceFolder::path_of(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

Result<std::optional<std::string>> HuggingFaceFolder::read_text(std::string_view name) const {
  const std::string path = path_of(name);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::optional<std::string>();
  PLM_TRY_ASSIGN(const auto file, MappedFile::open(path));
  if (file->bytes().size() > limits_.text_bytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes, at most {} are read", path, file->bytes().size(),
                limits_.text_bytes);
  }
  return std::optional(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()));
}

Result<void> HuggingFaceFolder::open_weights() {
  std::error_code none;
  if (std::filesystem::exists(path_of(kWeights), none)) {
    PLM_TRY(add_shard(std::string(kWeights)));
  } else {
    PLM_TRY_ASSIGN(const auto index, read_text(kIndex));
    if (index) PLM_TRY(open_shards(path_of(kIndex), *index));
  }
  std::ranges::sort(tensors_, {}, &FolderTensor::name);
  const auto twin = std::ranges::adjacent_find(tensors_, {}, &FolderTensor::name);
  if (twin == tensors_.end()) return {};
  return fail(ErrorKind::bad_input, "{}: tensor {}: stands in two shards, {} and {}", path_, printable(twin->name),
              shards_[twin->shard]->path(), shards_[(twin + 1)->shard]->path());
}

Result<void> HuggingFaceFolder::open_shards(const std::string& index_name, const std::string& index) {
  PLM_TRY_ASSIGN(const auto shard_of, parse_safetensors_index(index, index_name));
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shard_of) names.insert(shard);
  if (names.size() > limits_.shards) {
    return fail(ErrorKind::bad_input, "{}: weight_map names {} shards, at most {} are read", index_name, names.size(),
                limits_.shards);
  }
  for (const std::string& name : names) PLM_TRY(add_shard(name));
  std::ranges::sort(tensors_, {}, &FolderTensor::name);
  for (const auto& [tensor, shard] : shard_of) {
    const FolderTensor* found = find_tensor(tensor);
    if (found != nullptr && shards_[found->shard]->path() == path_of(shard)) continue;
    return fail(ErrorKind::bad_input, "{}: weight_map: {} is not in {}; download the checkpoint again", index_name,
                printable(tensor, 80), shard);
  }
  return {};
}

Result<void> HuggingFaceFolder::add_shard(const std::string& name) {
  PLM_TRY_ASSIGN(auto file, SafetensorsFile::open(path_of(name)));
  for (const auto& [tensor, entry] : file->tensors()) tensors_.push_back({tensor, &entry, shards_.size()});
  shards_.push_back(std::move(file));
  return {};
}

const FolderTensor* HuggingFaceFolder::find_tensor(std::string_view name) const {
  const auto at = std::ranges::lower_bound(tensors_, name, {}, &FolderTensor::name);
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace plm
