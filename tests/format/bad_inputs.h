// The corpus of broken model files: one valid file and some 240 variants with one defect each, made by
// make_bad_gguf.py of the conformance data. Taken from the folder in PLM_BAD_INPUTS, or generated (python3 with numpy).
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace plm {

struct BadInput {
  std::string path;    ///< of the file
  std::string kind;    ///< gguf, safetensors, config, tokenizer_json
  std::string group;   ///< header, kv, tensor, hparam, control ...
  std::string name;    ///< of the case
  std::string defect;  ///< in words
  std::string field;   ///< the one at fault
  std::string want;    ///< reject, warn, accept, reject-or-warn
};

/// A fresh folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plm-test-XXXXXX").string();
    PLM_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline Result<std::filesystem::path> bad_inputs_folder() {
  if (const char* given = std::getenv("PLM_BAD_INPUTS")) return std::filesystem::path(given);
  const std::filesystem::path script = std::filesystem::path(PLM_SHARED) / "conformance/bad-inputs/make_bad_gguf.py";
  if (!std::filesystem::exists(script)) return fail(ErrorKind::bad_input, "{} is not here", script.string());
  static const TemporaryFolder folder;
  // Debian's own python3 first: it is the one for which numpy is installed.
  const std::string command =
      fmt::format("PATH=/usr/bin:$PATH python3 -B '{}' '{}' >/dev/null 2>&1", script.string(), folder.path().string());
  static const int status = std::system(command.c_str());
  if (status != 0) {
    return fail(ErrorKind::failed,
                "{} failed; it needs python3 with numpy (or name a folder that it wrote in PLM_BAD_INPUTS)",
                script.string());
  }
  return folder.path();
}

/// All cases in the order of the manifest. The error says why there are none, for GTEST_SKIP.
inline Result<std::vector<BadInput>> bad_inputs() {
  PLM_TRY_ASSIGN(const auto folder, bad_inputs_folder());
  PLM_TRY_ASSIGN(const Json manifest, parse_json(read_text(folder / "manifest.json"), "manifest.json"));
  std::vector<BadInput> inputs;
  for (const Json& row : manifest) {
    const auto text = [&row](const char* key) { return row.at(key).get<std::string>(); };
    inputs.push_back({(folder / text("file")).string(), text("kind"), text("group"), text("name"), text("defect"),
                      text("field"), text("want")});
  }
  return inputs;
}

}  // namespace plm
