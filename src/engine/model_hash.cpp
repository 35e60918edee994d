#include "engine/model_hash.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/json.h"
#include "engine/sha256.h"

namespace plm {
namespace {

constexpr std::size_t kMostRemembered = 1024;
constexpr std::size_t kPieceBytes = 8U << 20;

// What changes when the bytes do.
std::optional<std::string> identity_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return fmt::format("{}:{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Json read_memory(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const auto json = parse_json(text, path, {.bytes = 1U << 20});
  return json.has_value() && json->is_object() ? *json : Json::object();
}

// Whole or not at all, whoever else writes.
void write_memory(const std::string& path, const Json& memory) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string own = fmt::format("{}.{}", path, getpid());
  std::ofstream stream(own, std::ios::binary);
  stream << json_text(memory, 1) << "\n";
  stream.close();
  if (stream) std::filesystem::rename(own, path, ignored);
  if (!stream || ignored) std::filesystem::remove(own, ignored);
}

struct Progress {
  const std::function<void(double)>& report;
  std::uint64_t all_bytes = 0, done_bytes = 0;
};

std::string hash_content(const GgufPart& part, Progress& progress) {
  Sha256 hash;
  for (std::size_t at = 0; at < part.bytes.size(); at += kPieceBytes) {
    const auto piece = part.bytes.subspan(at, std::min(kPieceBytes, part.bytes.size() - at));
    hash.add(piece);
    progress.done_bytes += piece.size();
    if (progress.report) {
      progress.report(static_cast<double>(progress.done_bytes) / static_cast<double>(progress.all_bytes));
    }
  }
  return hash.finish();
}

}  // namespace

Result<ModelHash> model_hash(const GgufFile& file, const HashOptions& options) {
  const auto parts = file.parts();
  Json memory = options.memory.empty() ? Json::object() : read_memory(options.memory);
  bool has_news = false;
  Progress progress{options.on_progress};
  for (const GgufPart& part : parts) progress.all_bytes += part.bytes.size();
  Sha256 headers, contents;
  std::string only;  // the hash of the only file is that of its bytes, as others write it
  for (const GgufPart& part : parts) {
    headers.add(part.header);
    const auto identity = part.file != nullptr ? identity_of(part.file->path()) : std::nullopt;
    if (identity.has_value() && memory.contains(*identity) && memory[*identity].is_string()) {
      only = memory[*identity].get<std::string>();
    } else {
      only = hash_content(part, progress);
      if (identity.has_value()) {
        if (memory.size() >= kMostRemembered) memory.clear();
        memory[*identity] = only;
        has_news = true;
      }
    }
    contents.add(only);
  }
  PLM_TRY(file.unchanged());
  if (has_news && !options.memory.empty()) write_memory(options.memory, memory);
  return ModelHash{headers.finish(), parts.size() == 1 ? only : contents.finish()};
}

}  // namespace plm
