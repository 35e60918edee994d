// A llama model of a few thousand weights, built in memory, in which a test can set any one thing wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/philox.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "model/model_file.h"
#include "tensor/storage_type.h"

namespace plm {

struct TinyTensor {
  std::vector<std::uint64_t> dims;  ///< the row length first, as in the file
  std::string type = "F32";
  std::optional<float> fill = {};  ///< every element; not given: numbers from -0.3 to 0.3
};

using TinyValue = std::variant<std::uint32_t, std::int32_t, float, std::string, std::vector<std::string>>;

struct TinyLlama {
  static constexpr std::uint32_t kVocab = 48, kHidden = 32, kFfn = 64, kLayers = 2, kContext = 64;
  static constexpr const char* kName = "tiny.gguf";  // what errors call the file

  std::map<std::string, TinyValue> keys{
      {"general.architecture", "llama"},     {"llama.block_count", kLayers},
      {"llama.context_length", kContext},    {"llama.embedding_length", kHidden},
      {"llama.feed_forward_length", kFfn},   {"llama.attention.head_count", 4U},
      {"llama.attention.head_count_kv", 2U}, {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
  };
  std::map<std::string, TinyTensor> tensors{
      {"token_embd.weight", {{kHidden, kVocab}}},
      {"output_norm.weight", {{kHidden}}},
  };

  TinyLlama() {
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      tensors[prefix + "attn_norm.weight"] = {{kHidden}};
      tensors[prefix + "attn_q.weight"] = {{kHidden, kHidden}};
      tensors[prefix + "attn_k.weight"] = {{kHidden, kHidden / 2}};
      tensors[prefix + "attn_v.weight"] = {{kHidden, kHidden / 2}};
      tensors[prefix + "attn_output.weight"] = {{kHidden, kHidden}};
      tensors[prefix + "ffn_norm.weight"] = {{kHidden}};
      tensors[prefix + "ffn_gate.weight"] = {{kHidden, kFfn}};
      tensors[prefix + "ffn_up.weight"] = {{kHidden, kFfn}};
      tensors[prefix + "ffn_down.weight"] = {{kFfn, kHidden}};
    }
  }

  /// The same keys and tensors under the name of another architecture.
  TinyLlama& rename(const std::string& architecture) {
    std::map<std::string, TinyValue> renamed{{"general.architecture", architecture}};
    for (const auto& [key, value] : keys) {
      if (key.starts_with("llama.")) renamed[architecture + key.substr(5)] = value;
    }
    keys = std::move(renamed);
    return *this;
  }

  /// Adds a vocabulary of `count` tokens: "a0", "a1" ... The last one ends a text.
  TinyLlama& with_vocabulary(std::uint32_t count = kVocab) {
    std::vector<std::string> texts;
    for (std::uint32_t id = 0; id < count; ++id) texts.push_back("a" + std::to_string(id));
    keys["tokenizer.ggml.model"] = "llama";
    keys["tokenizer.ggml.tokens"] = texts;
    keys["tokenizer.ggml.eos_token_id"] = count - 1;
    return *this;
  }

  /// Makes it one of Mixtral's kind: four experts in every layer, of which a row uses two.
  TinyLlama& with_experts() {
    keys["llama.expert_count"] = 4U;
    keys["llama.expert_used_count"] = 2U;
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) {
        auto dims = tensors[prefix + name + ".weight"].dims;
        tensors.erase(prefix + name + ".weight");
        dims.push_back(4);
        tensors[prefix + name + "_exps.weight"] = {dims};
      }
      tensors[prefix + "ffn_gate_inp.weight"] = {{kHidden, 4}};
    }
    return *this;
  }

  [[nodiscard]] GgufWriter writer() const {
    GgufWriter writer;
    for (const auto& [key, value] : keys) add(writer, key, value);
    for (const auto& [name, tensor] : tensors) {
      writer.add_tensor(name, *find_ggml_type(tensor.type), tensor.dims, bytes_of(tensor));
    }
    return writer;
  }

 private:
  static void add(GgufWriter& writer, const std::string& key, const TinyValue& value) {
    if (const auto* number = std::get_if<std::uint32_t>(&value)) writer.add_u32(key, *number);
    if (const auto* number = std::get_if<std::int32_t>(&value)) writer.add_i32(key, *number);
    if (const auto* number = std::get_if<float>(&value)) writer.add_f32(key, *number);
    if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      writer.add_strings(key, std::vector<std::string_view>(texts->begin(), texts->end()));
    }
  }

  static std::vector<std::byte> bytes_of(const TinyTensor& tensor) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : tensor.dims) count *= dim;
    std::vector<float> numbers(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const double u = uniform({.seed = tensor.dims[0], .candidate = static_cast<std::uint32_t>(count), .cell = i});
      numbers[i] = tensor.fill.value_or(static_cast<float>(0.6 * u - 0.3));
    }
    const GgmlType& type = *find_ggml_type(tensor.type);
    std::vector<std::byte> bytes(*storage_bytes(type, count));
    const StorageType* storage = find_storage_type(type.id);
    if (storage != nullptr) storage->pack(numbers.data(), bytes.data(), count / storage->block_size);
    return bytes;
  }
};

/// The model as a file in memory, open.
struct OpenTiny {
  explicit OpenTiny(const TinyLlama& model)
      : bytes(model.writer().bytes()),
        gguf(GgufFile::parse(bytes, TinyLlama::kName).value()),
        file(ModelFile::open(gguf).value()) {}

  std::vector<std::byte> bytes;
  std::shared_ptr<const GgufFile> gguf;
  ModelFile file;
};

}  // namespace plm
