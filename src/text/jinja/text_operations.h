// What filters and methods do to texts. Every character of a result keeps the mark of the character it was made from;
// what an operation adds (padding, escapes) keeps the mark of what it was taken from, or is input.
// Tested by tests/text/jinja/test_marks.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/characters.h"
#include "text/jinja/marked_text.h"

namespace plm::jinja {

class Rendering;

/// `write` appends what becomes of a character; `is_first` tells whether it begins a word or the text, as asked.
using CharacterWriter = std::function<void(std::string& to, const Character& character)>;
[[nodiscard]] MarkedText mapped(const MarkedText& text, const CharacterWriter& write);

[[nodiscard]] MarkedText upper(const MarkedText& text);
[[nodiscard]] MarkedText lower(const MarkedText& text);
[[nodiscard]] MarkedText capitalized(const MarkedText& text);
/// Words begin after what is no letter (str.title), or after space, hyphen and opening brackets (the filter).
enum class Words { after_non_letters, after_separators };
[[nodiscard]] MarkedText titled(const MarkedText& text, Words words);

enum class Side { both, left, right };
/// Without the characters of `characters` (unset: whitespace) at its ends.
[[nodiscard]] MarkedText stripped(const MarkedText& text, Side side, const std::optional<std::string_view>& characters);

/// At most `count` occurrences replaced, all when negative.
[[nodiscard]] MarkedText replaced(Rendering& rendering, const MarkedText& text, const MarkedText& old,
                                  const MarkedText& by, std::int64_t count);

// Pieces between separators (not empty), or between whitespace; at most `count` cuts, any number when negative.
[[nodiscard]] std::vector<MarkedText> split(const MarkedText& text, std::string_view separator, std::int64_t count);
[[nodiscard]] std::vector<MarkedText> split_last(const MarkedText& text, std::string_view separator,
                                                 std::int64_t count);
[[nodiscard]] std::vector<MarkedText> split_words(const MarkedText& text, std::int64_t count);
[[nodiscard]] std::vector<MarkedText> split_last_words(const MarkedText& text, std::int64_t count);
[[nodiscard]] std::vector<MarkedText> split_lines(const MarkedText& text, bool keeps_ends);

/// Padded to `width` characters with `fill`.
[[nodiscard]] MarkedText padded(Rendering& rendering, const MarkedText& text, std::int64_t width, Side text_side,
                                std::string_view fill = " ");

/// &, <, >, ' and " as HTML writes them.
[[nodiscard]] MarkedText escaped_for_html(const MarkedText& text);

}  // namespace plm::jinja
