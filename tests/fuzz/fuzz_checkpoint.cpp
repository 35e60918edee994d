// Any JSON as config.json and as the index of a Hugging Face folder with real tensors: what is translated is a whole
// GGUF file, whose tensors can all be read. The input is config.json, a zero byte, then generation_config.json.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
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

// One tensor of every rule that does something, 8 bytes a row; with scales, one of them in eight-bit floats.
void put_tensors(bool has_scales) {
  std::string header, data;
  const auto add = [&](const std::string& name, const char* dtype, const char* shape, std::size_t bytes) {
    const std::size_t begin = data.size();
    data.append(bytes, '\1');
    header += (header.empty() ? "{\"" : ",\"") + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
              ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  };
  const std::string query = "model.layers.0.self_attn.q_proj.weight";
  add("model.embed_tokens.weight", "BF16", "[8,4]", 64);
  add(query, has_scales ? "F8_E4M3" : "BF16", "[8,4]", has_scales ? 32 : 64);
  if (has_scales) add(query + "_scale_inv", "F32", "[3,2]", 24);
  add("model.layers.0.self_attn.k_proj.bias", "BF16", "[8]", 16);
  add("model.norm.weight", "BF16", "[8]", 16);
  add("lm_head.weight", "BF16", "[8,4]", 64);
  header += "}";
  const std::uint64_t size = header.size();
  put("model.safetensors", std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static std::optional<bool> has_scales;
  if (const bool wants_scales = text.find("fp8") != std::string_view::npos; has_scales != wants_scales) {
    put_tensors(wants_scales);
    has_scales = wants_scales;
  }
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
