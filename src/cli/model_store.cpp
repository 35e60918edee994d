#include "cli/model_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/interrupt.h"

namespace plm {

// Embedded by the build from tools/fetch_model.py and models/catalog.json.
extern const std::string_view kFetchScript;
extern const std::string_view kModelCatalog;

namespace {

constexpr std::string_view kExtension = ".gguf";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string_view::npos;
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
  std::vector<FetchedModel> models;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().extension() != kExtension || !entry.is_regular_file(none)) continue;
    models.push_back({entry.path().stem().string(), entry.path().string(), entry.file_size(none)});
  }
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

Result<std::string> resolve_model(std::string_view model) {
  if (model.empty()) return fail(ErrorKind::usage, "no model named; give a path or a name from plm models");
  std::error_code none;
  const std::string path(model);
  if (std::filesystem::exists(path, none) || !is_plain_name(model)) return path;
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  const std::string fetched = folder + "/" + path + std::string(kExtension);
  if (std::filesystem::exists(fetched, none)) return fetched;
  const auto known = catalog();
  if (std::any_of(known.begin(), known.end(), [&](const CatalogEntry& entry) { return entry.name == model; })) {
    return fail(ErrorKind::bad_input, "{}: not fetched yet; run plm fetch {}", model, model);
  }
  return fail(ErrorKind::bad_input, "{}: no such file, and no fetched model of that name; plm models lists them",
              printable(model));
}

namespace {

// Becomes the script: python3 -c SCRIPT NAME FOLDER --catalog -, with the catalogue on its standard input.
[[noreturn]] void become_script(int input, const std::string& name, const std::string& folder) {
  dup2(input, STDIN_FILENO);
  close(input);
  const std::string script(kFetchScript);
  execlp("python3", "python3", "-c", script.c_str(), name.c_str(), folder.c_str(), "--catalog", "-", nullptr);
  const char message[] = "error: python3 cannot be started; install it (apt-get install python3 python3-pip)\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  _exit(static_cast<int>(ErrorKind::failed));
}

}  // namespace

Result<int> fetch_model(const std::string& name) {
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  int ends[2];
  if (pipe(ends) != 0) return fail(ErrorKind::failed, "fetch: no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) return fail(ErrorKind::failed, "fetch: no process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[1]);
    become_script(ends[0], name, folder);
  }
  stop_between_batches();  // the script tidies up after an interrupt, and is waited for
  close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);  // a script that ends early must not end us
  std::string_view rest = kModelCatalog;
  while (!rest.empty()) {
    const ssize_t written = write(ends[1], rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) kill(child, SIGTERM);
  std::signal(SIGPIPE, SIG_DFL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ErrorKind::interrupted);
}

}  // namespace plm
