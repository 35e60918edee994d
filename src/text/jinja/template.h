// Chat templates: the Jinja language as models' makers use it, parsed once and rendered for many conversations.
//
// What it means is what jinja2's ImmutableSandboxedEnvironment makes of it with the settings of the transformers
// library (trim_blocks, lstrip_blocks, loopcontrols, `generation` blocks, its own `tojson`):
// tests/golden/text/jinja_*.json hold what that computes. Not taken over: including and inheriting other templates,
// changing lists and dictionaries, everything that reaches for Python's insides, integers beyond 64 bits, and Markup
// (nothing is escaped unasked). A rendering reads nothing but its arguments, so one Template serves many threads.
// Tested by tests/text/jinja/test_template.cpp and test_conformance.cpp.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_forward.h"
#include "text/jinja/limits.h"
#include "text/jinja/marked_text.h"

namespace plm::jinja {

struct Program;

struct RenderOptions {
  /// Names of variables whose text counts as the template's own, since the model's maker wrote it: bos_token ...
  std::vector<std::string> trusted;
  /// Local time for strftime_now; unset: now. Fields as the C library fills them.
  std::optional<std::tm> now;
};

class Template {
 public:
  /// Parses `source`, UTF-8. `name` is what errors call it (a path, "tokenizer.chat_template").
  /// Errors (bad_input): "name: line 3, column 14: reason".
  static Result<Template> parse(std::string source, std::string name, const Limits& limits = {});

  /// The text that the template makes of `variables`, a JSON object. Its strings are input unless trusted.
  /// Errors: as above; `usage` when the template itself refuses the conversation (raise_exception), with its words.
  [[nodiscard]] Result<MarkedText> render(const Json& variables, const RenderOptions& options = {}) const;

  [[nodiscard]] const std::string& source() const;
  [[nodiscard]] const std::string& name() const;

 private:
  explicit Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace plm::jinja
