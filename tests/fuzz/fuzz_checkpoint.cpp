// Any JSON as config.json and as the index of a Hugging Face folder with real tensors: what is translated is a whole
// GGUF file, whose tensors can all be read. The input is config.json, a zero byte, then generation_config.json.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "format/safetensors_index.h"
#include "model/checkpoint.h"
#include "model/model_file.h"

namespace {

// A folder in memory where there is such a place, so that a run costs no disk.
const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern = std::string(has_memory ? "/dev/shm" : "/tmp") + "/plm-fuzz-XXXXXX";
    PLM_CHECK(mkdtemp(pattern.data()) != nullptr);
    return std::filesystem::path(pattern);
  }();
  return made;
}

void put(const char* name, std::string_view text) { std::ofstream(folder() / name, std::ios::binary) << text; }

// One tensor of every rule that does something, 8 bytes a row.
void put_tensors() {
  std::string header, data;
  for (const char* name : {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight",
                           "model.layers.0.self_attn.k_proj.bias", "model.norm.weight", "lm_head.weight"}) {
    const bool is_vector = std::string_view(name).ends_with("bias") || std::string_view(name).ends_with("norm.weight");
    const std::size_t begin = data.size();
    data.append(is_vector ? 16 : 64, '\1');
    header += (header.empty() ? "{\"" : ",\"") + std::string(name) +
              "\":{\"dtype\":\"BF16\",\"shape\":" + (is_vector ? "[8]" : "[8,4]") + ",\"data_offsets\":[" +
              std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  const std::uint64_t size = header.size();
  put("model.safetensors", std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool has_tensors = (put_tensors(), true);
  PLM_CHECK(has_tensors);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  put("config.json", text.substr(0, cut));
  put("generation_config.json", cut == std::string_view::npos ? "{}" : text.substr(cut + 1));
  const auto index = plm::parse_safetensors_index(text, "index");
  PLM_CHECK(index.has_value() || !index.error().message.empty());
  for (const auto use : {plm::CheckpointUse::model, plm::CheckpointUse::vocabulary}) {
    const auto file = plm::open_checkpoint(folder().string(), use);
    if (!file.has_value()) continue;
    for (const plm::TensorEntry& tensor : (*file)->tensors()) {
      PLM_CHECK((*file)->read(tensor)->bytes.size() == tensor.byte_count());
    }
    PLM_CHECK(plm::ModelFile::open(*file).has_value());
  }
  return 0;
}
