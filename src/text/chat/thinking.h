// Parts a model's answer into what it thinks and what it says, while it is being written.
//
// Thinking begins where the prompt left it open, or with the begin tag as the first thing of the answer; it ends with
// the first end tag. Tags and the blanks beside them belong to neither. Text is held back only while it may still be
// part of a tag. What must stay true: the parts do not depend on how the text was cut into pushes.
// Tested by tests/text/chat/test_thinking.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/chat/chat_template.h"

namespace plm {

class ThinkingSplitter {
 public:
  struct Parts {
    std::string thinking, answer;
  };

  /// Without tags everything is answer. `begins_thinking`: the prompt ends with the begin tag.
  explicit ThinkingSplitter(std::optional<ThinkingTags> tags, bool begins_thinking = false);

  /// What `text` adds to each part.
  [[nodiscard]] Parts push(std::string_view text);
  /// The text is over: what was held back.
  [[nodiscard]] Parts finish();

  [[nodiscard]] bool is_thinking() const { return state_ == State::thinking; }

 private:
  enum class State : unsigned char { before, thinking, answering };
  // Each takes from held_ what it can and says whether there may be more to take.
  bool take_begin(Parts& parts);
  bool take_thinking(Parts& parts);
  bool take_answer(Parts& parts);

  std::optional<ThinkingTags> tags_;
  State state_ = State::before;
  bool drops_blanks_ = false;  // those after a tag
  std::string held_;
};

}  // namespace plm
