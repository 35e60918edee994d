#include "cli/line_editor.h"

#include <histedit.h>

#include <clocale>
#include <cstdio>
#include <cstring>

namespace plm {

struct LineEditor::Editor {
  EditLine* line = nullptr;
  History* history = nullptr;
  HistEvent event{};
  std::string prompt;
};

namespace {

constexpr int kRememberedLines = 1000;

// Characters are those of UTF-8, whatever the user's language.
void choose_characters() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

LineEditor::LineEditor(bool interactive) {
  if (!interactive) return;
  choose_characters();
  editor_ = std::make_unique<Editor>();
  editor_->line = el_init("plm", stdin, stderr, stderr);  // stdout is for data
  editor_->history = history_init();
  history(editor_->history, &editor_->event, H_SETSIZE, kRememberedLines);
  history(editor_->history, &editor_->event, H_SETUNIQUE, 1);
  el_set(editor_->line, EL_CLIENTDATA, editor_.get());
  el_set(
      editor_->line, EL_PROMPT, +[](EditLine* line) {
        Editor* editor = nullptr;
        el_get(line, EL_CLIENTDATA, &editor);
        return editor->prompt.data();
      });
  el_set(editor_->line, EL_EDITOR, "emacs");
  el_set(editor_->line, EL_HIST, history, editor_->history);
  el_set(editor_->line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() {
  if (editor_ == nullptr) return;
  el_end(editor_->line);
  history_end(editor_->history);
}

std::optional<std::string> LineEditor::read(const std::string& prompt, std::string_view prefill) {
  if (editor_ == nullptr) {
    std::string line;
    int c = std::fgetc(stdin);
    if (c == EOF) return std::nullopt;
    for (; c != EOF && c != '\n'; c = std::fgetc(stdin)) line += static_cast<char>(c);
    return line;
  }
  editor_->prompt = prompt;
  const std::string macro(prefill);
  if (!macro.empty()) el_push(editor_->line, macro.c_str());
  int count = 0;
  const char* typed = el_gets(editor_->line, &count);
  if (typed == nullptr || count <= 0) return std::nullopt;
  std::string line(typed, static_cast<std::size_t>(count));
  if (line.find_first_not_of(" \t\n") != std::string::npos) {
    history(editor_->history, &editor_->event, H_ENTER, line.c_str());
  }
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

}  // namespace plm
