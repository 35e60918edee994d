// A tokeniser's file of the SentencePiece library (tokenizer.model, spiece.model): its pieces with their scores and
// types, and how texts are prepared.
//
// Source: sentencepiece_model.proto of the library (message ModelProto). A folder that has such a file and no
// tokenizer.json carries it under tokenizer.sentencepiece.model; here it is said as a GGUF vocabulary, with the keys
// and values that llama.cpp's converter writes. A stranger wrote it: sizes and counts are bounded, scores are numbers.
// Tested by tests/text/test_sentencepiece_model.cpp and tests/fuzz/fuzz_sentencepiece.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "text/huggingface_vocabulary.h"
#include "text/token.h"

namespace plm {

inline constexpr std::string_view kSentencePieceKey = "tokenizer.sentencepiece.model";

struct SentencePieceLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t pieces = std::size_t{1} << 24;
  std::size_t piece_bytes = 4096;
};

struct SentencePieceModel {
  struct Piece {
    std::string_view text;
    float score = 0;
    TokenType type = TokenType::normal;
  };

  std::vector<Piece> pieces;  ///< by id
  bool is_unigram = true;     ///< else byte pair encoding
  bool prepends_space = true, merges_spaces = true;
  std::string_view charsmap;  ///< see text/charsmap.h; may be empty
  // Ids with a purpose; negative where the model has none.
  std::int64_t unknown = 0, bos = 1, eos = 2, padding = -1;

  /// All views are into `bytes`. Errors (bad_input) begin with `path` and name the field.
  static Result<SentencePieceModel> parse(std::string_view bytes, std::string_view path,
                                          const SentencePieceLimits& limits = {});
};

/// Whether `file` carries such a file and no tokenizer.json.
[[nodiscard]] bool has_sentencepiece_tokenizer(const GgufFile& file);

/// Appends to `out` what the files that `file` carries say, tokenizer_config.json and special_tokens_map.json too:
/// tokenizer.ggml.* and tokenizer.chat_template. Values that `file` has under these keys already stay as they are.
/// Errors (bad_input) name file and field.
Result<void> add_sentencepiece_vocabulary(const GgufFile& file, GgufWriter& out);

}  // namespace plm
