// The tokeniser's files of a Hugging Face folder, said as a GGUF vocabulary.
//
// A file that carries them under tokenizer.huggingface.json (GGUF specification) and tokenizer.huggingface.config
// (ours: the text of tokenizer_config.json) becomes one with tokenizer.ggml.*, so that Vocabulary reads one format
// only. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "text/folder_settings.h"
#include "text/huggingface_json.h"

namespace plm {

inline constexpr std::string_view kHuggingfaceTokenizerKey = "tokenizer.huggingface.json";

/// Whether `file` carries a tokenizer.json.
[[nodiscard]] bool has_huggingface_tokenizer(const GgufFile& file);

/// The texts as they were read; the last two may be empty.
struct HuggingfaceTexts {
  std::string_view tokenizer_json, tokenizer_config_json, special_tokens_map_json;
  std::string name;  ///< of the folder or file, for messages
};

/// The texts that `file` carries. Errors (bad_input): a value that is no string.
Result<HuggingfaceTexts> huggingface_texts(const GgufFile& file);

/// Appends to `out` what the texts say: tokenizer.ggml.model, pre, tokens, token_type, scores, merges, *_token_id,
/// add_*_token, add_space_prefix and tokenizer.chat_template. `row_count`: tokens are filled up to this many with
/// unused ones. What GGUF cannot say is told in `warnings`. Errors (bad_input) name file and field.
Result<void> add_ggml_vocabulary(const HuggingfaceTokenizer& tokenizer, const HuggingfaceTexts& texts,
                                 std::size_t row_count, GgufWriter& out, std::vector<std::string>& warnings);

/// The same for the texts that `file` carries; values that `file` has under these keys already stay as they are. Gives
/// what the tokenizer.json says.
Result<HuggingfaceTokenizer> add_ggml_vocabulary(const GgufFile& file, GgufWriter& out,
                                                 std::vector<std::string>& warnings);

/// A file in memory with the metadata that `out` holds, named `name`.
Result<std::shared_ptr<const GgufFile>> vocabulary_file(const GgufWriter& out, std::string name);

}  // namespace plm
