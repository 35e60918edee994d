// The terminal as the program's only mouth: data to stdout, everything else to stderr (DESIGN section 8).
//
// Colours only when stderr is a terminal and NO_COLOR is not set; progress bars only on a terminal. Every line that may
// hold a stranger's text passes through `printable` at its source. Tested by tests/cli/test_terminal.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace plm {

class Terminal {
 public:
  Terminal();

  /// Writes data; false when nobody reads any more (closed pipe).
  bool data(std::string_view text);

  void note(std::string_view sentence);     ///< "note: ..."
  void warning(std::string_view sentence);  ///< "warning: ..."
  void error(const Error& error);           ///< "error: ..."
  void line(std::string_view text);         ///< as it is

  /// A bar that is redrawn in place; nothing unless stderr is a terminal. `done` in [0, 1].
  void progress(std::string_view what, double done);
  void clear_progress();

  void be_quiet() { quiet_ = true; }  ///< no notes, warnings, lines and bars
  [[nodiscard]] bool is_quiet() const { return quiet_; }
  [[nodiscard]] bool input_is_terminal() const;

 private:
  void say(std::string_view colour, std::string_view label, std::string_view text);

  bool is_terminal_ = false;
  bool has_colour_ = false;
  bool quiet_ = false;
  int shown_tenth_ = -1;  // of a percent, of the bar on screen
};

}  // namespace plm
