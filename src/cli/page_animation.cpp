#include "cli/page_animation.h"

#include <chrono>
#include <thread>

#include "cli/interrupt.h"

namespace plm {
namespace {

constexpr double kLeastMs = 30;  // between two frames: more than the eye sees only costs time

}  // namespace

std::unique_ptr<PageAnimation> PageAnimation::create(Invocation& call, const Vocabulary& vocabulary,
                                                     std::span<const TokenId> given, std::size_t shown_from) {
  const Settings& settings = call.settings;
  if (settings.boolean("no_animation") || settings.boolean("quiet") || !call.terminal.screen().has_value()) {
    return nullptr;
  }
  return std::unique_ptr<PageAnimation>(new PageAnimation(call.terminal, PageView(vocabulary, given, shown_from),
                                                          static_cast<int>(settings.integer("frame_ms"))));
}

void PageAnimation::draw() {
  if (drawn_passes_ > 0 &&
      (view_.passes() == drawn_passes_ || (frame_ms_ == 0 && since_frame_.elapsed_ms() < kLeastMs))) {
    return;
  }
  draw_frame();
}

void PageAnimation::finish() {
  if (frame_ms_ > 0 && !was_interrupted()) draw_frame();
  terminal_.clear_frame();
}

void PageAnimation::draw_frame() {
  const auto screen = terminal_.screen();
  if (!screen.has_value()) return;
  terminal_.frame(view_.frame(*screen, terminal_.data_has_colours()));
  drawn_passes_ = view_.passes();
  since_frame_.restart();
  if (frame_ms_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(frame_ms_));
}

}  // namespace plm
