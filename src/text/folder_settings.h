// What tokenizer_config.json and special_tokens_map.json of a Hugging Face folder say, whichever file holds the
// vocabulary itself. Tested by tests/text/test_folder_settings.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "text/added_tokens.h"
#include "text/huggingface_json.h"

namespace plm {

inline constexpr std::string_view kHuggingfaceConfigKey = "tokenizer.huggingface.config";
inline constexpr std::string_view kHuggingfaceSpecialTokensKey = "tokenizer.huggingface.special_tokens_map";

/// How the files call the special tokens, and what GGUF calls them.
inline constexpr std::pair<const char*, std::string_view> kFolderSpecialTokens[] = {
    {"bos_token", "bos"},     {"eos_token", "eos"}, {"unk_token", "unknown"}, {"sep_token", "seperator"},
    {"pad_token", "padding"}, {"cls_token", "cls"}, {"mask_token", "mask"},
};

class FolderSettings {
 public:
  /// Empty texts are files that there are not. `name` is what errors call the folder. Errors (bad_input): no JSON
  /// object.
  static Result<FolderSettings> parse(std::string_view config_json, std::string_view special_tokens_map_json,
                                      std::string_view name);
  /// The same from the texts that `file` carries.
  static Result<FolderSettings> parse(const GgufFile& file);

  /// What errors call tokenizer_config.json.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The text of a setting, or of the token that it names; empty where there is none.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::optional<bool> flag(const char* key) const;
  /// The template, or the one named "default" of several; empty where there is none.
  [[nodiscard]] std::string chat_template() const;
  /// Entries of added_tokens_decoder, by ascending id. Errors (bad_input) name file and field.
  [[nodiscard]] Result<std::vector<AddedToken>> added_tokens() const;

 private:
  std::string path_;  // "NAME: tokenizer_config.json"
  MapJson config_, special_tokens_map_;
};

/// Rows of the embedding, where the file says so; else 0.
[[nodiscard]] Result<std::size_t> embedding_rows(const GgufFile& file);

/// Values under tokenizer.ggml.* and the chat template that `file` has already, except the vocabulary itself, replace
/// those in `out`.
void keep_given_values(const GgufFile& file, GgufWriter& out);

/// Adds the character map of a SentencePiece model (text/charsmap.h).
void add_charsmap(std::string_view bytes, GgufWriter& out);

}  // namespace plm
