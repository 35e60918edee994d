// Tasks with exactly checkable answers: how often a model is right, and what it cost.
//
// A task file has one JSON object a line: {"task": name, "prompt": text, "answer": text}; instead of one answer,
// "matches" may be a regular expression for the whole text; "length" says how many tokens may be written, 64 if it is
// missing. Useful tokens are those of the text and the one that ends it, at most `length` (datasheet 44). Intervals are
// Wilson's, 95 %. Tested by tests/engine/test_evaluation.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/pass_tally.h"
#include "text/pattern.h"

namespace plm {

struct EvalItem {
  static constexpr std::size_t kStandardLength = 64;

  std::string task, prompt, answer;
  std::optional<Pattern> matches;  ///< for the whole text, in place of `answer`
  std::size_t length = kStandardLength;

  /// Error (failed): the expression would take too long.
  [[nodiscard]] Result<bool> accepts(const std::string& text) const;
};

/// Errors (bad_input) name file and line.
[[nodiscard]] Result<std::vector<EvalItem>> parse_eval_items(std::string_view text, const std::string& name);

struct EvalText {
  const EvalItem* item = nullptr;
  std::string text;
  bool is_right = false;
  std::size_t passes = 0;
  std::size_t useful_tokens = 0;
  PassTally cost;  ///< times are those of the batch
};

/// Of one task, or of all of them.
struct EvalTally {
  std::string task;
  std::size_t texts = 0, right = 0, passes = 0, useful_tokens = 0;
  void add(const EvalText& text);
  [[nodiscard]] double accuracy() const { return static_cast<double>(right) / static_cast<double>(texts); }
  [[nodiscard]] double tokens_per_pass() const {
    return static_cast<double>(useful_tokens) / static_cast<double>(passes);
  }
};

struct Interval {
  double low, high;
};
/// Of a share of `right` in `all`, 95 % (Wilson 1927).
[[nodiscard]] Interval wilson_interval(std::size_t right, std::size_t all);

/// Tallies in the order in which the tasks first appear.
[[nodiscard]] std::vector<EvalTally> tallies(std::span<const EvalText> texts);

/// The mean over tasks that counts slow ones as they cost: tokens per pass of a mix with equally many tokens of each.
[[nodiscard]] double harmonic_tokens_per_pass(std::span<const EvalTally> tallies);

struct EvalHooks {
  std::function<bool()> interrupted = {};
  std::function<void(double done)> on_progress = {};
};

/// Writes a text for every item, as many at once as the engine takes, and checks it. `base` says how: its prompt,
/// number of tokens and listener are the items'. The order changes no text. Errors: a prompt's; interrupted.
[[nodiscard]] Result<std::vector<EvalText>> evaluate(Engine& engine, std::span<const EvalItem> items,
                                                     const GenerationRequest& base, const EvalHooks& hooks = {});

}  // namespace plm
