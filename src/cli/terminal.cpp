#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr int kBarWidth = 30;

bool is_unset_or_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0';
}

// A drawing that does not arrive is no loss; when data does not, Terminal::write tells.
void to_stdout(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Whether it arrives is of no consequence; fmt::print would throw.
void to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string harmless(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    shown += printable(text.substr(0, end), text.size() * 8);
    if (end < text.size()) shown += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shown;
}

Terminal::Terminal()
    : is_terminal_(isatty(STDERR_FILENO) == 1),
      output_is_terminal_(isatty(STDOUT_FILENO) == 1),
      has_colour_(is_terminal_ && is_unset_or_empty("NO_COLOR")) {}

bool Terminal::input_is_terminal() const { return isatty(STDIN_FILENO) == 1; }

void Terminal::data(std::string_view text) {
  if (text.empty() || failure_.has_value()) return;
  write(output_is_terminal_ ? harmless(text) : std::string(text));
}

bool Terminal::data_has_colours() const { return output_is_terminal_ && is_unset_or_empty("NO_COLOR"); }

void Terminal::data(std::span<const Piece> pieces) {
  const bool has_colour = data_has_colours();
  for (const Piece& piece : pieces) {
    if (has_colour && piece.stands_out) {
      write(fmt::format("\x1b[35m{}\x1b[0m", harmless(piece.text)));
    } else {
      data(piece.text);
    }
  }
}

void Terminal::write(std::string_view bytes) {
  if (failure_.has_value()) return;
  clear_progress();
  clear_frame();
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0) return;
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  failure_ =
      Error{is_full ? ErrorKind::no_room : ErrorKind::failed, fmt::format("standard output: {}", std::strerror(errno))};
}

void Terminal::say(std::string_view colour, std::string_view label, std::string_view text) {
  clear_progress();
  clear_frame();
  to_stderr(has_colour_ ? fmt::format("\x1b[{}m{}\x1b[0m {}\n", colour, label, text)
                        : fmt::format("{} {}\n", label, text));
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
  clear_frame();
  to_stderr(fmt::format("{}\n", text));
}

void Terminal::aside(std::string_view text) {
  if (quiet_) return;
  clear_progress();
  to_stderr(has_colour_ ? fmt::format("\x1b[2m{}\x1b[0m", harmless(text)) : harmless(text));
}

void Terminal::progress(std::string_view what, double done) {
  if (!is_terminal_ || quiet_) return;
  const int permille = static_cast<int>(std::clamp(done, 0.0, 1.0) * 1000);
  if (permille == shown_permille_) return;
  shown_permille_ = permille;
  const int filled = permille * kBarWidth / 1000;
  to_stderr(fmt::format("\r\x1b[K{} [{:#<{}}{:.<{}}] {:>3}%", what, "", filled, "", kBarWidth - filled, permille / 10));
}

void Terminal::clear_progress() {
  if (shown_permille_ < 0) return;
  shown_permille_ = -1;
  to_stderr("\r\x1b[K");
}

std::optional<ScreenSize> Terminal::screen() const {
  const char* kind = std::getenv("TERM");
  if (!output_is_terminal_ || kind == nullptr || *kind == '\0' || std::strcmp(kind, "dumb") == 0) return std::nullopt;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return std::nullopt;
  return ScreenSize{size.ws_row, size.ws_col};
}

void Terminal::frame(std::vector<FrameLine> lines) {
  if (!screen().has_value() || lines.empty()) return;
  clear_progress();
  std::string bytes = frame_erasure();
  for (std::size_t i = 0; i < lines.size(); ++i) bytes += (i == 0 ? "" : "\n") + lines[i].bytes;
  to_stdout(bytes);
  frame_ = std::move(lines);
}

void Terminal::clear_frame() { to_stdout(frame_erasure()); }

// What wipes the frame off the screen, which then counts as wiped.
std::string Terminal::frame_erasure() {
  if (frame_.empty()) return {};
  // The window may have become narrower, and lines taken more rows.
  const std::size_t columns = screen().value_or(ScreenSize{1, 1U << 16}).columns;
  std::size_t rows = 0;
  for (const FrameLine& line : frame_) rows += std::max<std::size_t>((line.columns + columns - 1) / columns, 1);
  frame_.clear();
  return rows > 1 ? fmt::format("\r\x1b[{}A\x1b[J", rows - 1) : "\r\x1b[J";
}

}  // namespace plm
