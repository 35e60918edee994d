// A text that remembers of each byte whether the template's author wrote it or whether it came in as data.
//
// Only what the template wrote may become control tokens; what a message says is ordinary text, whatever it looks like.
// So a mark may be lost (template text that counts as input costs nothing but a token) and must never appear: bytes
// that come from nowhere, a number's digits or an escape, are input.
// Runs are maximal: neighbours differ in origin, together they cover the text. Tested by
// tests/text/jinja/test_marked_text.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plm::jinja {

/// Who wrote a byte.
enum class Origin : unsigned char { input, template_text };

class MarkedText {
 public:
  /// The bytes [begin, end) are all of one origin.
  struct Run {
    std::size_t begin, end;
    Origin origin;
    bool operator==(const Run&) const = default;
  };

  MarkedText() = default;
  MarkedText(std::string text, Origin origin);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  /// The maximal runs in order; none when the text is empty.
  [[nodiscard]] std::span<const Run> runs() const { return runs_; }
  /// Whether the template wrote the byte at `at` (less than size()). Logarithmic in the number of runs.
  [[nodiscard]] bool is_from_template(std::size_t at) const {
    return runs_[run_at(at)].origin == Origin::template_text;
  }
  /// Whether the template wrote all of the bytes [begin, end).
  [[nodiscard]] bool is_from_template(std::size_t begin, std::size_t end) const;

  void append(std::string_view text, Origin origin);
  void append(const MarkedText& other) { append(other, 0, other.size()); }
  /// Appends the bytes [begin, end) of `other`, which must not be this text, with their marks.
  void append(const MarkedText& other, std::size_t begin, std::size_t end);
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  /// The bytes [begin, end) with their marks.
  [[nodiscard]] MarkedText slice(std::size_t begin, std::size_t end) const;

  bool operator==(const MarkedText&) const = default;  ///< texts and marks

 private:
  [[nodiscard]] std::size_t run_at(std::size_t at) const;

  std::string text_;
  std::vector<Run> runs_;
};

}  // namespace plm::jinja
