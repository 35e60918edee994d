// Lines that a person types: with editing and the lines before when it is a terminal (libedit), else as they come.
// Tested by tests/cli/test_on_terminal.py and tests/cli/test_chat.py.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace plm {

class LineEditor {
 public:
  /// `interactive`: standard input is a terminal.
  explicit LineEditor(bool interactive);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// The next line, without its line feed. `prefill` is there already, to be changed. None: the input is over, or
  /// somebody pressed Ctrl-C (was_interrupted).
  [[nodiscard]] std::optional<std::string> read(const std::string& prompt, std::string_view prefill = {});

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // null: no terminal
};

}  // namespace plm
