// Ends a stream of text at the first of several stop strings, wherever the pieces of the stream are cut.
//
// The stop string that is complete first ends the text; of several that are complete at the same byte, the longest.
// Neither it nor anything after it is handed out. Text is held back only while it may still become a stop string, so
// nothing waits longer than it must. Each stop string runs the automaton of Knuth, Morris and Pratt ("Fast pattern
// matching in strings", 1977), whose state is how much of the string the text ends with: the bytes to hold back.
// What must stay true: the pieces joined do not depend on how the text was cut. Tested by
// tests/text/test_stop_matcher.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

class StopMatcher {
 public:
  /// Never stops.
  StopMatcher() = default;
  /// Errors (usage): a stop string that is empty or not UTF-8.
  static Result<StopMatcher> create(std::vector<std::string> stops);

  /// The text that can be shown now, after `text` (whole characters) has come; nothing once a stop string has matched.
  [[nodiscard]] std::string push(std::string_view text);

  /// The stop string that ended the text.
  [[nodiscard]] std::optional<std::string_view> matched() const;

  /// The stop string that matched does not count: the text that can be shown now, the stop string in it. Another one
  /// may have matched behind it.
  [[nodiscard]] std::string dismiss();

  /// The stream has ended: what was held back.
  [[nodiscard]] std::string finish();

 private:
  struct Automaton {
    std::string stop;
    std::vector<std::size_t> fallback;  // [n]: the longest proper prefix of `stop` that its first n + 1 bytes end with
    std::size_t agreeing = 0;           // how many bytes of `stop` the text ends with
    void advance(char byte);
  };
  [[nodiscard]] const Automaton* advance_all(char byte);

  std::vector<Automaton> automata_;
  std::optional<std::size_t> matched_;  // index of the automaton
  std::string held_;
  std::string behind_;  // what came behind the stop string that matched
};

}  // namespace plm
