// Texts that must not appear: tokens are held back while they may become one of them, and taken back when they do.
//
// The decoder gives each token it has written, with the logits it was drawn from. When a banned phrase is complete, the
// token in which it begins, and all after it, go; that token is then forbidden at that place, and another one is drawn
// from the same logits. Letters of ASCII match in either case. This is KoboldCpp's and ooba's "banned strings" rule.
// Invariants: tokens that were released never come back; what was forbidden at a place stays so until the text before
// it changes, so every taking back shrinks a finite choice. Tested by tests/decode/test_phrase_bans.cpp.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace plm {

class PhraseBans {
 public:
  /// How often a text is taken back before it is given up: more means that hardly any text is allowed.
  static constexpr std::size_t kMostRewinds = 4096;
  static constexpr std::size_t kMostPhrases = 1024;

  /// The vocabulary must outlive the object. Errors (usage): a phrase that is empty or not UTF-8, too many.
  static Result<PhraseBans> create(std::vector<std::string> phrases, const Vocabulary& vocabulary);

  /// `logits` without the tokens that are forbidden at `position`; the span lives until the next call.
  [[nodiscard]] std::span<const float> allowed(std::span<const float> logits, std::size_t position);

  /// Adds the token written at `position`, drawn from `logits` (before `allowed`).
  void push(TokenId token, std::size_t position, std::span<const float> logits);

  /// How many of the oldest tokens held can be no part of a phrase any more; they are no longer held.
  [[nodiscard]] std::size_t release();

  struct Rewind {
    std::size_t position;       ///< of the first token that goes
    std::vector<float> logits;  ///< to draw another one from
  };
  /// Whether a phrase is complete: then its token is forbidden and the tokens from there on are no longer held.
  /// Error (unsatisfiable): too often.
  [[nodiscard]] Result<std::optional<Rewind>> rewind();

 private:
  struct Held {
    TokenId token;
    std::size_t position;
    std::vector<float> logits;
    std::size_t end;  // of its text, in bytes since the first token of all
  };
  PhraseBans(StopMatcher matcher, const Vocabulary& vocabulary);
  void read(TokenId token);  // by matcher_ and detokenizer_
  void read_held_anew();

  StopMatcher matcher_, matcher_before_;             // the latter is before the oldest token held
  std::optional<Detokenizer> detokenizer_, before_;  // the same
  std::size_t length_ = 0, length_before_ = 0;       // bytes that the detokenizers gave
  std::size_t cleared_ = 0, cleared_before_ = 0;     // bytes that the matchers let through
  std::deque<Held> held_;
  std::map<std::size_t, std::vector<TokenId>> forbidden_;  // by position
  std::vector<float> row_;
  std::size_t rewinds_ = 0;
};

}  // namespace plm
