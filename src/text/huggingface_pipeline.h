// The pipeline that a tokenizer.json spells out: normaliser, pre-tokeniser and model, and what is put around a text.
//
// Source: Hugging Face tokenizers 0.2x, whose ids the tests compare with. Parts that no published model uses are
// refused by name. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/huggingface_json.h"
#include "text/text_pipeline.h"
#include "text/vocabulary.h"

namespace plm {

/// Steps of the pre-tokeniser, and what the model has to know about them.
struct HuggingfacePreTokenizer {
  PreTokenizer steps;
  std::vector<std::string> expressions;  ///< all it does is to split, isolated, by these; empty: something else
  bool spells_bytes = false;             ///< pieces are bytes, to be spelled in the byte alphabet by the model
  bool uses_byte_alphabet = false;       ///< the byte alphabet appears somewhere
};

/// Calls `use(type, part)` for each step of the normaliser, in order.
using HuggingfacePartUse = std::function<Result<void>(const std::string& type, const JsonField& part)>;
Result<void> for_each_normalizer(const HuggingfaceTokenizer& tokenizer, const HuggingfacePartUse& use);
/// The bytes of a Precompiled step (text/charsmap.h).
Result<std::string> charsmap_bytes(const JsonField& precompiled);

Result<Normalizer> load_normalizer(const HuggingfaceTokenizer& tokenizer);
Result<HuggingfacePreTokenizer> load_pre_tokenizer(const HuggingfaceTokenizer& tokenizer);

/// `vocabulary` must hold the tokens of `tokenizer` (huggingface_vocabulary.h) and outlive the result.
/// Errors (bad_input) name the file and the field.
Result<std::unique_ptr<const TextPipeline>> load_huggingface_pipeline(const HuggingfaceTokenizer& tokenizer,
                                                                      const Vocabulary& vocabulary,
                                                                      std::vector<std::string>& warnings);

/// The tokens that the post-processor puts around a text, and between the two of a pair.
struct Surroundings {
  std::vector<TokenId> before, after;
  std::vector<TokenId> between;
  bool second_type = false;  ///< the second text and what is after it are of token type 1
};
Result<Surroundings> load_surroundings(const HuggingfaceTokenizer& tokenizer);

}  // namespace plm
