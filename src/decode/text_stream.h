// From tokens to text that can be shown: whole characters only, cut at the first stop string.
// Tested by tests/decode/test_text_stream.cpp.
#pragma once

#include <string>
#include <utility>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace plm {

class TextStream {
 public:
  /// The vocabulary must outlive the stream.
  explicit TextStream(const Vocabulary& vocabulary, StopMatcher stops = {}, const DetokenizeOptions& options = {})
      : vocabulary_(&vocabulary), detokenizer_(vocabulary, options), stops_(std::move(stops)) {}

  [[nodiscard]] const Vocabulary& vocabulary() const { return *vocabulary_; }

  /// The text that can be shown after `id` has been written; often empty, never part of a character.
  [[nodiscard]] std::string push(TokenId id) { return stops_.push(detokenizer_.push(id)); }

  /// Whether a stop string ended the text.
  [[nodiscard]] bool stopped() const { return stops_.matched().has_value(); }

  /// The text goes on behind the stop string that ended it: what can be shown now.
  [[nodiscard]] std::string go_on() { return stops_.dismiss(); }

  /// What was held back, now that nothing follows.
  [[nodiscard]] std::string finish() {
    std::string rest = stops_.push(detokenizer_.finish());
    return rest + stops_.finish();
  }

 private:
  const Vocabulary* vocabulary_;
  Detokenizer detokenizer_;
  StopMatcher stops_;
};

}  // namespace plm
