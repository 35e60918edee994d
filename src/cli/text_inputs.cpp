#include "cli/text_inputs.h"

#include "base/utf8.h"
#include "cli/interrupt.h"

namespace plm {
namespace {

constexpr std::size_t kPreviewBytes = 60;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> read_texts(const Invocation& call, std::size_t file_argument) {
  const bool has_file = call.arguments.size() > file_argument;
  std::vector<std::string> texts = call.all("prompt");
  if (!texts.empty() && has_file) return fail(ErrorKind::usage, "texts: give --prompt or FILE, not both");
  if (!texts.empty()) return texts;
  const std::string name = has_file ? call.argument(file_argument) : "-";
  if (name == "-" && call.terminal.input_is_terminal()) call.terminal.note("type a text a line, then Ctrl-D");
  PLM_TRY_ASSIGN(const std::string all, read_text(name));
  if (call.settings.boolean("whole")) return std::vector<std::string>{all};
  texts = lines_of(all);
  if (texts.empty()) {
    return fail(ErrorKind::usage, "texts: {} is empty; give --prompt TEXT, or a file with one text a line",
                name == "-" ? "standard input" : printable(name, 80));
  }
  return texts;
}

ReadingHooks reading_hooks(Terminal& terminal, std::string_view what) {
  stop_between_batches();
  return {.on_progress = [&terminal, what](double fraction) { terminal.progress(what, fraction); },
          .interrupted = [] { return was_interrupted(); }};
}

void warn_of_cuts(Terminal& terminal, std::size_t cut, std::size_t all) {
  if (cut == 0) return;
  terminal.warning(fmt::format("{} of {} texts {} longer than the model reads and {} cut; see --max-tokens", cut, all,
                               cut == 1 ? "was" : "were", cut == 1 ? "was" : "were"));
}

std::string preview(std::string_view text) { return printable(text, kPreviewBytes); }

}  // namespace plm
