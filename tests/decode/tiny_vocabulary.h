// A vocabulary of a few tokens for tests of text: letters, a piece of two, both bytes of "é", and two ways to end.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "format/gguf_writer.h"
#include "text/vocabulary.h"

namespace plm {

enum TinyToken : TokenId { kA, kB, kC, kAB, kBC, kByteC3, kByteA9, kEnd, kTurn, kTinyVocabularySize };

inline const Vocabulary& tiny_vocabulary() {
  static const std::vector<std::byte> bytes = [] {
    constexpr std::array<std::string_view, kTinyVocabularySize> kTexts = {"a",      "b",      "c",     "ab",    "bc",
                                                                          "<0xC3>", "<0xA9>", "<end>", "<turn>"};
    constexpr std::array<std::int32_t, kTinyVocabularySize> kTypes = {1, 1, 1, 1, 1, 6, 6, 3, 3};
    GgufWriter writer;
    writer.add_string("general.architecture", "none");
    writer.add_string("tokenizer.ggml.model", "llama");
    writer.add_strings("tokenizer.ggml.tokens", kTexts);
    writer.add_i32s("tokenizer.ggml.token_type", kTypes);
    return writer.bytes();
  }();
  static const Vocabulary vocabulary =
      Vocabulary::load(GgufFile::parse(bytes, "tiny", {.least_tensors = 0}).value()).value();
  return vocabulary;
}

}  // namespace plm
