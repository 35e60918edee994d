// A page drawn on the terminal while it fills, for commands that write pages. Tested by tests/cli/test_on_terminal.py.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/page_view.h"

namespace plm {

inline constexpr Parameter kNoAnimationFlag = {
    .name = "no_animation",
    .summary = "on a terminal, do not draw a page while it fills: its text appears when it can no longer change",
    .type = ParameterType::boolean,
    .tag = Tag::pipe};
inline constexpr Parameter kFrameMsFlag = {
    .name = "frame_ms",
    .summary = "how long the page stays on the screen after each pass, where a pass is faster than the eye",
    .type = ParameterType::integer,
    .standard = std::int64_t{0},
    .min = 0,
    .max = 60000,
    .unit = "ms",
    .tag = Tag::pipe};

class PageAnimation {
 public:
  /// None where data does not go to a screen, or none is wanted (the flags above, --quiet). `given` and `shown_from`:
  /// as PageView's. Terminal and vocabulary must outlive it.
  static std::unique_ptr<PageAnimation> create(Invocation& call, const Vocabulary& vocabulary,
                                               std::span<const TokenId> given, std::size_t shown_from);

  void on_event(const Event& event) { view_.on_event(event); }
  /// Draws the page if a pass has changed it. To be called between batches.
  void draw();
  /// Draws the finished page for as long as any other, and wipes it.
  void finish();

 private:
  PageAnimation(Terminal& terminal, PageView view, int frame_ms)
      : terminal_(terminal), view_(std::move(view)), frame_ms_(frame_ms) {}
  void draw_frame();

  Terminal& terminal_;
  PageView view_;
  int frame_ms_;
  std::size_t drawn_passes_ = 0;
  Stopwatch since_frame_;
};

}  // namespace plm
