// Vocabularies for tests, as GGUF files in memory: small ones put together field by field, and the one of
// tests/golden/text/tiny_bpe.json (made by make_tiny_bpe.py there).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "text/token.h"

namespace plm {

/// The file that a writer holds, with its bytes kept alive. It needs no tensors.
inline std::shared_ptr<const GgufFile> file_of(const GgufWriter& writer) {
  auto bytes = std::make_shared<std::vector<std::byte>>(writer.bytes());
  auto file = GgufFile::parse(*bytes, "m.gguf", {.least_tensors = 0}).value();
  const GgufFile* plain = file.get();
  return {plain, [bytes, file](const GgufFile*) {}};
}

inline std::shared_ptr<const GgufFile> open_vocabulary(const std::filesystem::path& path) {
  return GgufFile::open(path.string(), {.least_tensors = 0}).value();
}

/// Metadata of a vocabulary; what is left empty is not written.
struct VocabularyFields {
  std::string model = "gpt2", pre = "gpt-2";
  std::vector<std::string> tokens{};
  std::vector<std::int32_t> types{};
  std::vector<std::string> merges{};
  std::vector<float> scores{};

  [[nodiscard]] GgufWriter writer() const {
    GgufWriter out;
    out.add_string("general.architecture", "llama");
    if (!model.empty()) out.add_string("tokenizer.ggml.model", model);
    if (!pre.empty()) out.add_string("tokenizer.ggml.pre", pre);
    if (!tokens.empty()) out.add_strings("tokenizer.ggml.tokens", views(tokens));
    if (!types.empty()) out.add_i32s("tokenizer.ggml.token_type", types);
    if (!merges.empty()) out.add_strings("tokenizer.ggml.merges", views(merges));
    if (!scores.empty()) out.add_f32s("tokenizer.ggml.scores", scores);
    return out;
  }

  static std::vector<std::string_view> views(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
  }
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline Json read_json(const std::filesystem::path& path) { return parse_json(read_file(path), path.string()).value(); }

inline const Json& tiny_bpe_golden() {
  static const Json golden = read_json(std::filesystem::path(PLM_GOLDEN) / "text/tiny_bpe.json");
  return golden;
}

/// The tiny vocabulary with the named pre-tokeniser: six control tokens, 256 bytes, 58 merges.
inline VocabularyFields tiny_bpe(std::string pre = "gpt-2") {
  const Json& golden = tiny_bpe_golden();
  VocabularyFields fields{.pre = std::move(pre),
                          .tokens = golden.at("tokens").get<std::vector<std::string>>(),
                          .merges = golden.at("merges").get<std::vector<std::string>>()};
  fields.types.assign(fields.tokens.size(), 1);
  for (std::size_t id = 0; id < golden.at("special").size(); ++id) fields.types[id] = 3;
  return fields;
}

/// Bytes of "e6ad".
inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

using Ids = std::vector<TokenId>;

}  // namespace plm
