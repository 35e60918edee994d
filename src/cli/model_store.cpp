#include "cli/model_store.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {

extern const std::string_view kModelCatalog;  // embedded by the build from models/catalog.json

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".gguf", kHub = "hub", kConfig = "config.json", kPartial = ".partial";

bool is_gguf(const fs::path& path) { return path.extension() == kExtension; }

bool has_one_slash(std::string_view text) { return std::count(text.begin(), text.end(), '/') == 1; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

/// The number that a stem ends with as part of a split model ("-00002-of-00003"); 0: it is not split.
int part_number(std::string_view stem) {
  constexpr std::string_view kPattern = "-ddddd-of-ddddd";
  if (stem.size() <= kPattern.size()) return 0;
  const std::string_view end = stem.substr(stem.size() - kPattern.size());
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(end[i])) != 0;
    if (kPattern[i] == 'd' ? !is_digit : end[i] != kPattern[i]) return 0;
  }
  return std::atoi(std::string(end.substr(1, 5)).c_str());
}

/// A stem without the number of its part.
std::string_view whole_stem(std::string_view stem) {
  return part_number(stem) == 0 ? stem : stem.substr(0, stem.size() - std::string_view("-00001-of-00001").size());
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
    paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable)) paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code failure;
  const auto size = fs::file_size(path, failure);
  return failure ? 0 : size;
}

fs::path note_of(const fs::path& file) { return file.parent_path() / ("." + file.filename().string() + ".json"); }

/// Where a file that was fetched by address came from, by the note beside it; empty when there is none.
std::string noted_source(const fs::path& file) {
  constexpr std::uint64_t kMostBytes = 1U << 16;
  const fs::path note = note_of(file);
  if (size_of(note) > kMostBytes) return {};
  std::ifstream stream(note, std::ios::binary);
  const auto parsed = parse_json(std::string(std::istreambuf_iterator<char>(stream), {}), note.string());
  if (!parsed.has_value() || !parsed->is_object()) return {};
  const auto source = parsed->find("source");
  return source != parsed->end() && source->is_string() ? source->get<std::string>() : std::string();
}

/// A Hugging Face folder: configuration and weights.
bool is_folder_model(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_regular_file(folder / kConfig, none)) return false;
  const auto entries = entries_of(folder);
  return std::any_of(entries.begin(), entries.end(),
                     [](const fs::path& path) { return path.extension() == ".safetensors"; });
}

FetchedModel make_model(std::string name, const fs::path& path, std::string source,
                        const std::vector<fs::path>& files) {
  FetchedModel model{.name = std::move(name), .path = path.string(), .source = std::move(source)};
  for (const fs::path& file : files) {
    model.bytes += size_of(file);
    model.files.push_back(file.string());
  }
  return model;
}

FetchedModel make_folder_model(std::string name, const fs::path& folder, std::string source) {
  std::vector<fs::path> files = files_below(folder);
  std::erase_if(files, is_gguf);  // models of their own
  FetchedModel model = make_model(std::move(name), folder, std::move(source), files);
  if (fs::is_symlink(folder)) model.files = {folder.string()};  // somebody else's files
  return model;
}

/// A GGUF file that opens as a model: not a later part of a split one.
bool begins_model(const fs::path& path) { return is_gguf(path) && part_number(path.stem().string()) <= 1; }

/// The model that begins with `first`, with all its parts.
FetchedModel make_gguf_model(std::string name, const fs::path& first, std::string source) {
  const std::string stem = first.stem().string();
  std::vector<fs::path> files = {first};
  if (part_number(stem) == 1) {
    const std::string count = stem.substr(stem.size() - 5);
    files = entries_of(first.parent_path());
    std::erase_if(files, [&](const fs::path& path) {
      const std::string other = path.stem().string();
      return !is_gguf(path) || part_number(other) == 0 || !other.ends_with(count) ||
             whole_stem(other) != whole_stem(stem);
    });
  }
  return make_model(std::move(name), first, std::move(source), files);
}

/// GGUF files that go with a model and are none: projectors of images, importance matrices.
bool is_companion(const fs::path& path) {
  const std::string name = lower(path.filename().string());
  return name.find("mmproj") != std::string::npos || name.find("imatrix") != std::string::npos;
}

/// Adds what was fetched of owner/repo: the one model under that name, several as owner/repo:FILE.
void add_repository(const fs::path& folder, const std::string& name, std::vector<FetchedModel>& models) {
  std::vector<fs::path> firsts = files_below(folder);
  std::erase_if(firsts, [](const fs::path& path) { return !begins_model(path); });
  const bool has_folder = is_folder_model(folder);
  if (has_folder) models.push_back(make_folder_model(name, folder, std::string(kHub)));
  const auto whole =
      std::count_if(firsts.begin(), firsts.end(), [](const fs::path& path) { return !is_companion(path); });
  for (const fs::path& first : firsts) {
    const bool is_the_one = whole == 1 && !has_folder && !is_companion(first);
    const std::string relative = first.lexically_relative(folder).string();
    models.push_back(make_gguf_model(is_the_one ? name : name + ":" + relative, first, std::string(kHub)));
  }
}

void add_hub(const fs::path& hub, std::vector<FetchedModel>& models) {
  for (const fs::path& owner : entries_of(hub)) {
    for (const fs::path& repo : entries_of(owner)) {
      add_repository(repo, owner.filename().string() + "/" + repo.filename().string(), models);
    }
  }
}

std::set<std::string> catalog_names() {
  std::set<std::string> names;
  for (const CatalogEntry& entry : catalog()) names.insert(entry.name);
  return names;
}

/// Whether a file in a repository is meant by `choice`: its path, or a quantisation that its name ends with or that its
/// folder is called by ("Q4_K_M"), as tools/fetch_hub.py chooses.
bool is_meant(const fs::path& relative, std::string_view choice) {
  if (relative == fs::path(choice)) return true;
  const std::string tag = lower(choice), stem = lower(whole_stem(relative.stem().string()));
  for (const fs::path& folder : relative.parent_path()) {
    if (lower(folder.string()) == tag) return true;
  }
  if (tag.empty() || !stem.ends_with(tag)) return false;
  return stem.size() == tag.size() ||
         std::string_view("-._").find(stem[stem.size() - tag.size() - 1]) != std::string_view::npos;
}

tl::unexpected<Error> not_fetched(std::string_view name) {
  if (name.find("://") != std::string_view::npos) {
    return fail(ErrorKind::bad_input, "{}: an address; plm fetch brings it here and says what it is called then",
                printable(name));
  }
  if (has_one_slash(name.substr(0, name.find(':'))) || catalog_names().contains(std::string(name))) {
    return fail(ErrorKind::bad_input, "{}: no such file, and not fetched yet; run plm fetch {}", printable(name),
                printable(name));
  }
  return fail(ErrorKind::bad_input, "{}: no such file, and no fetched model of that name; plm models lists them",
              printable(name));
}

/// The model of a repository (owner/repo[:choice]) among those fetched.
Result<FetchedModel> find_in_repository(std::string_view name, const std::vector<FetchedModel>& models) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string repository(name.substr(0, colon));
  const std::string_view choice = name.substr(std::min(colon + 1, name.size()));
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  const fs::path place = fs::path(folder) / kHub / repository;
  std::vector<const FetchedModel*> there;
  std::string names;
  for (const FetchedModel& model : models) {
    if (model.source != kHub || (model.name != repository && !model.name.starts_with(repository + ":"))) continue;
    if (!choice.empty() && is_meant(fs::path(model.path).lexically_relative(place), choice)) return model;
    there.push_back(&model);
    names += (names.empty() ? "" : ", ") + model.name;
  }
  if (there.empty()) return not_fetched(name);
  if (choice.empty()) {
    return fail(ErrorKind::bad_input, "{}: several models of it are here, name one of {}", printable(name),
                printable(names, 1000));
  }
  return fail(ErrorKind::bad_input, "{}: not fetched yet, of it are here {}; run plm fetch {}", printable(name),
              printable(names, 1000), printable(name));
}

/// Whether a text is meant as a path, so that opening it gives the better error.
bool looks_like_path(std::string_view text) {
  if (text.starts_with("/") || text.starts_with(".") || text.starts_with("~") || text.ends_with("/")) return true;
  if (text.find("://") != std::string_view::npos) return false;
  const std::string_view name = text.substr(0, text.find(':'));
  const auto slashes = std::count(name.begin(), name.end(), '/');
  return slashes > 1 || (slashes == 1 && name.size() == text.size() && text.ends_with(kExtension));
}

}  // namespace

std::vector<CatalogEntry> catalog() {
  std::vector<CatalogEntry> entries;
  const auto parsed = parse_json(kModelCatalog, "models/catalog.json");
  PLM_CHECK(parsed.has_value());
  for (const Json& model : parsed->at("models")) {
    CatalogEntry entry{model.at("name"), model.at("summary"), model.at("licence")};
    for (const Json& file : model.at("files")) entry.bytes += file.at("bytes").get<std::uint64_t>();
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> cache_folder() {
  if (const char* folder = std::getenv("PLM_CACHE"); folder != nullptr && *folder != '\0') return std::string(folder);
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/plm";
  }
  return fail(ErrorKind::usage, "no folder for models: neither PLM_CACHE nor HOME is set; set PLM_CACHE");
}

Result<std::vector<FetchedModel>> fetched_models() {
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  const auto known = catalog_names();
  std::vector<FetchedModel> models;
  std::error_code none;
  for (const fs::path& path : entries_of(folder)) {
    const std::string file_name = path.filename().string();
    if (file_name.starts_with(".")) continue;
    const bool is_file = fs::is_regular_file(path, none);
    const std::string name = is_file && is_gguf(path) ? std::string(whole_stem(path.stem().string())) : file_name;
    std::string source = is_file ? noted_source(path) : std::string();
    const bool has_note = !source.empty();
    if (!has_note) source = known.contains(name) ? "catalogue" : "local";
    if (is_file && begins_model(path)) {
      models.push_back(make_gguf_model(name, path, source));
    } else if (is_file && has_note && !is_gguf(path)) {
      models.push_back(make_model(name, path, source, {path}));
    } else if (!is_file && is_folder_model(path)) {
      models.push_back(make_folder_model(name, path, source));
    }
  }
  add_hub(fs::path(folder) / kHub, models);
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

Result<FetchedModel> find_fetched(std::string_view name) {
  PLM_TRY_ASSIGN(const auto models, fetched_models());
  for (const FetchedModel& model : models) {
    if (model.name == name) return model;
  }
  const bool is_repository = has_one_slash(name.substr(0, name.find(':')));
  return is_repository ? find_in_repository(name, models) : Result<FetchedModel>(not_fetched(name));
}

Result<void> remove_fetched(const FetchedModel& model) {
  PLM_TRY_ASSIGN(const std::string cache, cache_folder());
  for (const fs::path file : model.files) {
    std::error_code failure, none;
    fs::remove(file, failure);
    if (failure) return fail(ErrorKind::failed, "{}: cannot be removed: {}", file.string(), failure.message());
    fs::remove(note_of(file), none);
    fs::path folder = file.parent_path();
    while (folder != fs::path(cache) && fs::is_empty(folder, none) && fs::remove(folder, none)) {
      folder = folder.parent_path();
    }
  }
  return {};
}

Result<Unfinished> unfinished_downloads() {
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  Unfinished unfinished{.path = (fs::path(folder) / kPartial).string()};
  for (const fs::path& file : files_below(unfinished.path)) unfinished.bytes += size_of(file);
  return unfinished;
}

Result<std::string> resolve_model(std::string_view model) {
  if (model.empty()) return fail(ErrorKind::usage, "no model named; give a path or a name from plm models");
  std::error_code none;
  if (fs::exists(fs::path(model), none)) return std::string(model);
  const auto fetched = find_fetched(model);
  if (fetched.has_value()) return fetched->path;
  if (looks_like_path(model)) return std::string(model);
  return tl::unexpected(fetched.error());
}

}  // namespace plm
