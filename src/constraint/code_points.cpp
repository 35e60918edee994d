#include "constraint/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kAfterSurrogates = 0xE000;

struct CategoryRun {
  CodePointRange range;
  std::array<char, 2> category{};  // "Lu", "Nd" ...
};

// The whole of Unicode by general category, in order. Made at first use, in some milliseconds.
const std::vector<CategoryRun>& category_runs() {
  static const std::vector<CategoryRun> kRuns = [] {
    std::vector<CategoryRun> runs;
    for (char32_t code = 0; code <= kLastCodePoint; ++code) {
      const char* name = utf8proc_category_string(static_cast<utf8proc_int32_t>(code));
      const std::array<char, 2> category{name[0], name[1]};
      if (runs.empty() || runs.back().category != category) runs.push_back({{code, code}, category});
      runs.back().range.last = code;
    }
    return runs;
  }();
  return kRuns;
}

// Every character that has exactly one other case, with that.
const std::vector<std::pair<char32_t, char32_t>>& case_pairs() {
  static const std::vector<std::pair<char32_t, char32_t>> kPairs = [] {
    std::vector<std::pair<char32_t, char32_t>> pairs;
    for (const CategoryRun& run : category_runs()) {
      if (run.category[0] != 'L') continue;
      for (char32_t code = run.range.first; code <= run.range.last; ++code) {
        const auto signed_code = static_cast<utf8proc_int32_t>(code);
        const auto upper = static_cast<char32_t>(utf8proc_toupper(signed_code));
        const auto lower = static_cast<char32_t>(utf8proc_tolower(signed_code));
        if (upper != code) pairs.emplace_back(code, upper);
        if (lower != code) pairs.emplace_back(code, lower);
      }
    }
    return pairs;
  }();
  return kPairs;
}

}  // namespace

CodePoints::CodePoints(std::initializer_list<CodePointRange> ranges) : ranges_(ranges) { normalise(); }

Result<CodePoints> CodePoints::of_property(std::string_view name) {
  if (name == "Any") return all();
  if (name == "ASCII") return CodePoints{{0, 0x7F}};
  if (name == "White_Space") {
    return CodePoints{{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLongNames{
      {{"Letter", "L"},
       {"Mark", "M"},
       {"Number", "N"},
       {"Punctuation", "P"},
       {"Symbol", "S"},
       {"Separator", "Z"},
       {"Uppercase_Letter", "Lu"},
       {"Lowercase_Letter", "Ll"}}};
  for (const auto& [long_name, short_name] : kLongNames) {
    if (name == long_name) name = short_name;
  }
  CodePoints found;
  if (!name.empty() && name.size() <= 2) {
    for (const CategoryRun& run : category_runs()) {
      if (std::string_view(run.category.data(), name.size()) == name) found.ranges_.push_back(run.range);
    }
  }
  if (found.empty()) {
    return fail(ErrorKind::usage, "unknown property '{}' of characters; general categories such as L, Lu, Nd are known",
                printable(name));
  }
  found.normalise();
  return found;
}

void CodePoints::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
  normalise();
}

void CodePoints::add(const CodePoints& other) { add_all(other.ranges_); }

void CodePoints::add_all(std::span<const CodePointRange> ranges) {
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  normalise();
}

CodePoints CodePoints::complement() const {
  CodePoints rest;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) rest.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest.ranges_.push_back({next, kLastCodePoint});
  rest.normalise();
  return rest;
}

CodePoints CodePoints::any_case() const {
  CodePoints both = *this;
  for (const auto& [code, other] : case_pairs()) {
    if (contains(code)) both.ranges_.push_back({other, other});
  }
  both.normalise();
  return both;
}

bool CodePoints::contains(char32_t code) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges_.begin() && std::prev(after)->last >= code;
}

// Sorted, joined where they touch, without surrogates and what lies beyond Unicode.
void CodePoints::normalise() {
  std::sort(ranges_.begin(), ranges_.end(), [](const CodePointRange& a, const CodePointRange& b) {
    return std::pair(a.first, a.last) < std::pair(b.first, b.last);
  });
  std::vector<CodePointRange> joined;
  const auto append = [&joined](char32_t first, char32_t last) {
    if (first > last) return;
    if (!joined.empty() && first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, last);
    } else {
      joined.push_back({first, last});
    }
  };
  for (const CodePointRange& range : ranges_) {
    append(range.first, std::min(range.last, kBeforeSurrogates));
    append(std::max(range.first, kAfterSurrogates), std::min(range.last, kLastCodePoint));
  }
  ranges_ = std::move(joined);
}

}  // namespace plm
