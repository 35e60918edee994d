// The terminal as the program's only mouth: data to stdout, everything else to stderr (DESIGN section 8).
//
// Colours only when stderr is a terminal and NO_COLOR is not set; progress bars only on a terminal. Notes, warnings and
// errors that hold a stranger's text pass it through `printable` at its source; data, which a program may read, is
// changed only when a person looks at it: on a terminal its control characters are spelled out. Tested by
// tests/cli/test_terminal.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

/// `text` without control characters other than line feed and tab, which are spelled as in `printable`: no text of a
/// model can steer a terminal.
[[nodiscard]] std::string harmless(std::string_view text);

struct ScreenSize {
  std::size_t rows, columns;
};

/// A line of a drawing; its bytes hold no control characters but those that colour it.
struct FrameLine {
  std::string bytes;
  std::size_t columns = 0;
};

class Terminal {
 public:
  Terminal();

  /// Writes data. After a failure nothing more is written, and `failure` tells it.
  void data(std::string_view text);

  /// A piece of data; those that stand out have a colour of their own on a terminal.
  struct Piece {
    std::string text;
    bool stands_out = false;
  };
  void data(std::span<const Piece> pieces);
  /// Why data could not be written (disk full, nobody reads); none while all is well.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

  void note(std::string_view sentence);     ///< "note: ..."
  void warning(std::string_view sentence);  ///< "warning: ..."
  void error(const Error& error);           ///< "error: ..."
  void line(std::string_view text);         ///< as it is
  void aside(std::string_view text);        ///< a model's words that are no answer: dim, without a line feed

  /// A bar that is redrawn in place; nothing unless stderr is a terminal. `done` in [0, 1].
  void progress(std::string_view what, double done);
  void clear_progress();

  /// The screen that data goes to; none where it goes elsewhere, or to a terminal that cannot be drawn on.
  [[nodiscard]] std::optional<ScreenSize> screen() const;
  [[nodiscard]] bool data_has_colours() const;
  /// A drawing that stands where data would, in place of the one before, until data or anything else is written.
  /// Nothing unless there is a screen.
  void frame(std::vector<FrameLine> lines);
  void clear_frame();

  void be_quiet() { quiet_ = true; }  ///< no notes, warnings, lines and bars
  [[nodiscard]] bool input_is_terminal() const;

 private:
  void write(std::string_view bytes);
  std::string frame_erasure();
  void say(std::string_view colour, std::string_view label, std::string_view text);

  bool is_terminal_ = false;         // stderr
  bool output_is_terminal_ = false;  // stdout
  bool has_colour_ = false;          // on stderr
  bool quiet_ = false;
  std::vector<FrameLine> frame_;  // on the screen, the cursor behind its last line
  int shown_permille_ = -1;       // of the bar on screen; -1: there is none
  std::optional<Error> failure_;
};

}  // namespace plm
