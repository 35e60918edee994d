#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace plm {
namespace {
constexpr int kBarWidth = 30;
}

Terminal::Terminal() {
  is_terminal_ = isatty(STDERR_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  has_colour_ = is_terminal_ && (no_colour == nullptr || *no_colour == '\0');
}

bool Terminal::input_is_terminal() const { return isatty(STDIN_FILENO) == 1; }

bool Terminal::data(std::string_view text) {
  if (text.empty()) return true;
  clear_progress();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void Terminal::say(std::string_view colour, std::string_view label, std::string_view text) {
  clear_progress();
  if (has_colour_) {
    fmt::print(stderr, "\x1b[{}m{}\x1b[0m {}\n", colour, label, text);
  } else {
    fmt::print(stderr, "{} {}\n", label, text);
  }
}

void Terminal::note(std::string_view sentence) {
  if (!quiet_) say("36", "note:", sentence);
}

void Terminal::warning(std::string_view sentence) {
  if (!quiet_) say("33", "warning:", sentence);
}

void Terminal::error(const Error& error) { say("31", "error:", error.message); }

void Terminal::line(std::string_view text) {
  if (quiet_) return;
  clear_progress();
  fmt::print(stderr, "{}\n", text);
}

void Terminal::progress(std::string_view what, double done) {
  if (!is_terminal_ || quiet_) return;
  const int tenth = static_cast<int>(std::clamp(done, 0.0, 1.0) * 1000);
  if (tenth == shown_tenth_) return;
  shown_tenth_ = tenth;
  const int filled = tenth * kBarWidth / 1000;
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:>3}%", what, "", filled, "", kBarWidth - filled, tenth / 10);
  std::fflush(stderr);
}

void Terminal::clear_progress() {
  if (shown_tenth_ < 0) return;
  shown_tenth_ = -1;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace plm
