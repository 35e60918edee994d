// Rebuilds canvas and text from a stream of events: the proof that the stream leaves nothing out.
// Tested by tests/decode/test_event_replay.cpp.
#pragma once

#include <span>
#include <string>

#include "decode/event.h"

namespace plm {

class EventReplay {
 public:
  /// Starts from the given cells of a prompt.
  explicit EventReplay(std::span<const TokenId> prompt);

  void apply(const Event& event);

  [[nodiscard]] const Canvas& canvas() const { return canvas_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] FinishReason reason() const { return reason_; }

 private:
  Canvas canvas_;
  std::string text_;
  FinishReason reason_ = FinishReason::none;
};

}  // namespace plm
