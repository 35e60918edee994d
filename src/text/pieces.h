// A text cut into pieces, and the ways of cutting it further that Hugging Face tokenizers know.
//
// Every piece is a range of bytes of a text that lives elsewhere; a step that rewrites pieces keeps the new text here.
// Empty pieces are never kept. Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/pattern.h"

namespace plm {

class Pieces {
 public:
  /// One piece. `begins_text`: it stands at the very beginning of the user's text.
  explicit Pieces(std::string_view text, bool begins_text = true);

  [[nodiscard]] const std::vector<std::string_view>& list() const { return list_; }
  /// Whether the first piece is the beginning of the user's text.
  [[nodiscard]] bool begins_text() const { return begins_text_; }

  void replace(std::vector<std::string_view> list, bool begins_text);
  /// Keeps a text that pieces refer to.
  std::string_view keep(std::string text);

 private:
  std::vector<std::string_view> list_;
  std::vector<std::unique_ptr<const std::string>> kept_;
  bool begins_text_;
};

/// What becomes of the matches within a piece.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// A range of a piece that matches, or lies between matches.
struct SplitRange {
  std::size_t begin, end;
  bool is_match;
};

/// Appends the matches in `piece`, in order; what lies between them is filled in by the caller.
using SplitFinder = std::function<Result<void>(std::string_view piece, std::vector<SplitRange>& matches)>;

[[nodiscard]] SplitFinder find_pattern(std::shared_ptr<const Pattern> pattern);
[[nodiscard]] SplitFinder find_text(std::string text);
/// Each character by itself that the function holds true for.
[[nodiscard]] SplitFinder find_characters(bool (*matches)(char32_t));

/// Cuts every piece at the matches. `invert`: what lies between matches counts as the match. Errors are the finder's.
Result<void> split(Pieces& pieces, const SplitFinder& find, SplitBehavior behavior, bool invert = false);

}  // namespace plm
