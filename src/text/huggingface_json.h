// tokenizer.json of Hugging Face tokenizers, read into its parts and checked: model, vocabulary, merges, added tokens.
// Normaliser, pre-tokeniser, post-processor and decoder stay JSON for huggingface_pipeline.h.
//
// A stranger wrote it: nesting and ids are bounded, every merge must join tokens to a token, ids are given once.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"

namespace plm {

/// Keys in order of the alphabet, found in logarithmic time: objects here have a key for every token.
using MapJson = nlohmann::json;

struct HuggingfaceLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t depth = 64;
  std::int64_t ids = std::int64_t{1} << 24;
};

enum class HuggingfaceModel { bpe, unigram, word_piece };

struct HuggingfaceTokenizer {
  struct Token {
    std::string text;  ///< empty: no token has this id
    double score = 0;
  };

  std::string path;  ///< "NAME: tokenizer.json", for messages
  HuggingfaceModel kind = HuggingfaceModel::bpe;
  std::vector<Token> tokens;                                ///< by id, added ones too
  std::vector<std::pair<std::string, std::string>> merges;  ///< best first
  std::vector<AddedToken> added;
  std::optional<TokenId> unknown;
  bool byte_fallback = false, fuses_unknown = false, whole_pieces = false;
  std::string continuing_prefix = "##";
  std::size_t max_word_characters = 100;
  MapJson normalizer, pre_tokenizer, post_processor, decoder;  ///< null where there is none

  /// The token with this text, by linear search.
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

  /// `name` is what errors call the folder or file. Errors (bad_input) name it, "tokenizer.json" and the field.
  static Result<HuggingfaceTokenizer> parse(std::string_view json, std::string_view name,
                                            const HuggingfaceLimits& limits = {});
};

/// Parses one JSON text within the limits. Errors (bad_input) begin with `path`.
Result<MapJson> parse_map_json(std::string_view text, std::string_view path, const HuggingfaceLimits& limits = {});

// Typed members of a JSON object. Errors (bad_input): "PATH: FIELD.KEY is null, expected a string".
struct JsonField {
  std::string_view path;  ///< of the file
  std::string field;      ///< where `value` stands in it
  const MapJson& value;

  [[nodiscard]] Result<std::string> text(const char* key) const;
  [[nodiscard]] Result<std::string> text_or(const char* key, std::string_view otherwise) const;  ///< also for null
  [[nodiscard]] Result<bool> flag_or(const char* key, bool otherwise) const;                     ///< also for null
  [[nodiscard]] Result<const MapJson*> array(const char* key) const;
  [[nodiscard]] const MapJson* find(const char* key) const;  ///< null where missing or null
  template <typename... Args>
  [[nodiscard]] tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::bad_input, "{}: {}: {}", path, field, fmt::format(format, std::forward<Args>(args)...));
  }
};

}  // namespace plm
