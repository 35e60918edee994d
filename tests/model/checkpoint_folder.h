// A folder of a tiny Llama in Hugging Face's layout, for tests to change: written at once, gone at the end.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/half.h"

namespace plm {

class CheckpointFolder {
 public:
  struct Tensor {
    std::vector<std::uint64_t> shape;
    std::string dtype = "BF16";
    std::vector<float> values = {};  ///< empty: all 0.25; of U8 and F8_E4M3 the bytes
  };

  std::map<std::string, std::string> config = {
      {"architectures", "[\"LlamaForCausalLM\"]"},
      {"model_type", "\"llama\""},
      {"hidden_size", "16"},
      {"intermediate_size", "32"},
      {"num_hidden_layers", "2"},
      {"num_attention_heads", "2"},
      {"num_key_value_heads", "1"},
      {"max_position_embeddings", "64"},
      {"vocab_size", "32"},
      {"rms_norm_eps", "1e-5"},
      {"eos_token_id", "2"},
      {"tie_word_embeddings", "true"},
  };
  std::map<std::string, Tensor> tensors = {{"model.embed_tokens.weight", {{32, 16}}}, {"model.norm.weight", {{16}}}};

  CheckpointFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plm-folder-XXXXXX").string();
    PLM_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    for (int layer = 0; layer < 2; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      tensors[prefix + "input_layernorm.weight"] = {{16}};
      tensors[prefix + "post_attention_layernorm.weight"] = {{16}};
      tensors[prefix + "self_attn.q_proj.weight"] = {{16, 16}};
      tensors[prefix + "self_attn.k_proj.weight"] = {{8, 16}};
      tensors[prefix + "self_attn.v_proj.weight"] = {{8, 16}};
      tensors[prefix + "self_attn.o_proj.weight"] = {{16, 16}};
      tensors[prefix + "mlp.gate_proj.weight"] = {{32, 16}};
      tensors[prefix + "mlp.up_proj.weight"] = {{32, 16}};
      tensors[prefix + "mlp.down_proj.weight"] = {{16, 32}};
    }
    write();
  }
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  void add_file(const std::string& name, const std::string& content) const {
    const auto place = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << content;
  }

  void write() const {
    write_config();
    add_file("model.safetensors", safetensors(tensors));
  }

  void write_config() const {
    std::string text;
    for (const auto& [key, value] : config) text += (text.empty() ? "{\"" : ",\n\"") + key + "\": " + value;
    add_file("config.json", text + "}");
  }

  /// The tensors in turn over `count` shards with an index, in place of the one file.
  void write_shards(std::size_t count) const {
    std::vector<std::map<std::string, Tensor>> shards(count);
    std::string index;
    std::size_t next = 0;
    for (const auto& [name, tensor] : tensors) {
      shards[next % count][name] = tensor;
      index += (index.empty() ? "" : ",") + ("\"" + name + "\": \"" + shard_name(next++ % count) + "\"");
    }
    for (std::size_t i = 0; i < count; ++i) add_file(shard_name(i), safetensors(shards[i]));
    add_file("model.safetensors.index.json", "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" + index + "}}");
    std::filesystem::remove(path_ + "/model.safetensors");
  }

  static std::string shard_name(std::size_t index) { return "model-" + std::to_string(index) + ".safetensors"; }

 private:
  static std::string safetensors(const std::map<std::string, Tensor>& tensors) {
    std::string header, data;
    for (const auto& [name, tensor] : tensors) {
      std::uint64_t count = 1;
      std::string shape;
      for (const std::uint64_t dim : tensor.shape) {
        count *= dim;
        shape += (shape.empty() ? "" : ",") + std::to_string(dim);
      }
      const std::size_t begin = data.size();
      for (std::uint64_t i = 0; i < count; ++i) {
        const float value = tensor.values.empty() ? 0.25F : tensor.values[i];
        const std::uint16_t bits = bf16_from_float(value);
        if (tensor.dtype == "F32") data.append(reinterpret_cast<const char*>(&value), 4);
        if (tensor.dtype == "BF16") data.append(reinterpret_cast<const char*>(&bits), 2);
        if (tensor.dtype == "I8") data.push_back(1);
        if (tensor.dtype == "U8" || tensor.dtype == "F8_E4M3")
          data.push_back(static_cast<char>(static_cast<std::uint8_t>(value)));
      }
      header += (header.empty() ? "{\"" : ",\"") + name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" + shape +
                "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    }
    header += "}";
    while (header.size() % 8 != 0) header += ' ';
    const std::uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data;
  }

  std::string path_;
};

}  // namespace plm
