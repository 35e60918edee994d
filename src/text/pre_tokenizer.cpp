#include "text/pre_tokenizer.h"

#include <memory>
#include <utility>

#include "text/unicode_class.h"

namespace plm {

Result<PreTokenizer> PreTokenizer::compile(std::span<const std::string_view> expressions) {
  PreTokenizer pre_tokenizer;
  for (const std::string_view expression : expressions) {
    PLM_TRY_ASSIGN(Pattern pattern, Pattern::compile(expression));
    auto find = find_pattern(std::make_shared<const Pattern>(std::move(pattern)));
    pre_tokenizer.add([find = std::move(find)](Pieces& pieces) {  //
      return split(pieces, find, SplitBehavior::isolated);
    });
  }
  if (!expressions.empty()) pre_tokenizer.scanner_ = find_word_scanner(expressions);
  return pre_tokenizer;
}

void PreTokenizer::add(PreTokenizerStep step) {
  steps_.push_back(std::move(step));
  scanner_ = nullptr;
}

Result<void> PreTokenizer::cut(Pieces& pieces) const {
  for (const PreTokenizerStep& step : steps_) PLM_TRY(step(pieces));
  return {};
}

void add_bert_steps(PreTokenizer& pre_tokenizer) {
  pre_tokenizer.add([](Pieces& pieces) -> Result<void> {
    PLM_TRY(split(pieces, find_characters(is_white_space), SplitBehavior::removed));
    return split(pieces, find_characters(is_bert_punctuation), SplitBehavior::isolated);
  });
}

}  // namespace plm
