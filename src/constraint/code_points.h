// A set of characters as sorted ranges of code points: what a class like [^a-z] means before it becomes bytes.
//
// Surrogates are no characters: they are never in a complement and no UTF-8 stands for them.
// Tested by tests/constraint/test_code_points.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace plm {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

/// From `first` to `last`, both included.
struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;
  friend bool operator==(const CodePointRange&, const CodePointRange&) = default;
};

class CodePoints {
 public:
  CodePoints() = default;
  CodePoints(std::initializer_list<CodePointRange> ranges);
  static CodePoints all() { return {{0, kLastCodePoint}}; }
  /// Of a general category ("L", "Lu", "Nd" ...) or one of "Any", "ASCII", "Alphabetic", "White_Space".
  /// Errors: usage (no such name).
  static Result<CodePoints> of_property(std::string_view name);

  void add(char32_t first, char32_t last);
  void add(char32_t code) { add(code, code); }
  void add(const CodePoints& other);
  void add_all(std::span<const CodePointRange> ranges);

  /// Every other character, without the surrogates.
  [[nodiscard]] CodePoints complement() const;
  /// With the other case of every letter that has exactly one.
  [[nodiscard]] CodePoints any_case() const;
  [[nodiscard]] bool contains(char32_t code) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Sorted, apart from each other, without surrogates.
  [[nodiscard]] std::span<const CodePointRange> ranges() const { return ranges_; }

 private:
  void normalise();
  std::vector<CodePointRange> ranges_;
};

}  // namespace plm
