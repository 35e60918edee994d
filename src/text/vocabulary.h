// The vocabulary of a model: what each token's text, type and score is, which tokens have a purpose, and what bytes a
// token adds to a text. It knows nothing about cutting text into tokens; that is Tokenizer.
//
// Built from a GGUF file's tokenizer.ggml.* metadata (GGUF specification), for every kind of tokeniser, also those
// whose encoder is not written yet. Texts are views into the mapped file and nothing is copied per token. What must
// stay true: every array has one entry a token, every special id is inside the vocabulary, scores are numbers, byte
// tokens name a byte; a file that breaks one of these is refused, what is merely odd is in warnings(). Immutable, so
// threads may share it. Tested by tests/text/test_vocabulary.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "format/gguf.h"
#include "text/special_tokens.h"
#include "text/text_index.h"
#include "text/token.h"
#include "text/token_spelling.h"

namespace plm {

/// The algorithm that a vocabulary is made for.
enum class TokenizerKind { byte_bpe, sentencepiece_bpe, ranked_sentencepiece_bpe, unigram, word_piece, rwkv, plamo2 };

/// What a kind of tokeniser implies where the file is silent.
struct TokenizerKindRow {
  std::string_view name;  ///< value of tokenizer.ggml.model
  TokenizerKind kind;
  std::string_view title;  ///< for people
  Spelling spelling;
  bool add_bos = false;
  bool add_eos = false;
  bool add_separator = false;
  bool add_space_prefix = false;
};

class Vocabulary {
 public:
  /// Longest text of a token that is believed, in bytes; the longest in use have 1024.
  static constexpr std::size_t kMaxTokenBytes = 4096;

  /// Errors (bad_input) name the file and the key. The vocabulary keeps the file open.
  static Result<Vocabulary> load(std::shared_ptr<const GgufFile> file);

  Vocabulary(Vocabulary&&) = default;  // the index refers to the texts, so moving is fine and copying is not
  Vocabulary& operator=(Vocabulary&&) = default;

  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  [[nodiscard]] bool contains(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < size(); }

  // Of all tokens, by id.
  [[nodiscard]] std::span<const std::string_view> texts() const { return texts_; }
  [[nodiscard]] std::span<const TokenType> types() const { return types_; }

  // Per token; `id` must be contained.
  [[nodiscard]] std::string_view text(TokenId id) const;  ///< as the file spells it
  [[nodiscard]] TokenType type(TokenId id) const;
  [[nodiscard]] float score(TokenId id) const;  ///< 0 where the file has none
  /// Appends the bytes that the token adds to a text: none for control, unknown and unused tokens.
  void append_bytes(TokenId id, std::string& out) const;

  /// The token with this text; the lowest id where several have it.
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;
  /// Whether a token with a lower id has the same text.
  [[nodiscard]] bool repeats_text(TokenId id) const;

  [[nodiscard]] std::optional<TokenId> special(SpecialToken purpose) const { return special_.find(purpose); }
  /// Whether nothing more is generated after this token.
  [[nodiscard]] bool ends_generation(TokenId id) const;
  [[nodiscard]] std::span<const TokenId> end_of_generation() const { return special_.end_of_generation(); }

  // Whether encoding with special tokens puts one in front or at the end; only ever true when there is such a token.
  [[nodiscard]] bool adds_bos() const { return adds_bos_; }
  [[nodiscard]] bool adds_eos() const { return adds_eos_; }
  [[nodiscard]] bool adds_separator() const { return adds_separator_; }
  /// Whether the encoder puts a space in front of a text, which the detokeniser takes away again.
  [[nodiscard]] bool adds_space_prefix() const { return adds_space_prefix_; }

  [[nodiscard]] const TokenizerKindRow& kind() const { return *kind_; }
  [[nodiscard]] std::string_view pre_tokenizer_name() const { return pre_tokenizer_name_; }  ///< "default" if not given
  [[nodiscard]] std::string_view chat_template() const { return chat_template_; }            ///< empty: none

  [[nodiscard]] const GgufFile& file() const { return *file_; }
  /// What is odd but usable: one sentence each, naming file and key.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

 private:
  Vocabulary() = default;
  Result<void> load_texts();
  void check_texts();
  Result<void> load_types();
  Result<void> load_scores();
  Result<void> check_byte_tokens() const;
  Result<void> load_rules();
  template <typename... Args>
  void warn(std::string_view key, fmt::format_string<Args...> format, Args&&... args);

  std::shared_ptr<const GgufFile> file_;
  const TokenizerKindRow* kind_ = nullptr;
  AlignedBuffer texts_memory_;
  std::span<const std::string_view> texts_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;     // empty: all zero
  std::size_t longest_text_ = 0;  // bytes
  TextIndex index_;
  SpecialTokens special_;
  bool adds_bos_ = false, adds_eos_ = false, adds_separator_ = false, adds_space_prefix_ = false;
  std::string_view pre_tokenizer_name_;
  std::string_view chat_template_;
  std::vector<std::string> warnings_;
};

}  // namespace plm
