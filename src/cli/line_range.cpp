#include "cli/line_range.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace plm {
namespace {

// A whole number, or `standard` where there are no digits.
std::optional<std::size_t> number_in(std::string_view digits, std::size_t standard) {
  if (digits.empty()) return standard;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<TextPart> part_of_lines(std::string_view text, std::string_view range) {
  const bool ends_with_feed = text.ends_with('\n');
  const auto feeds = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  const std::size_t lines = feeds + (ends_with_feed || text.empty() ? 0 : 1);
  const std::size_t colon = range.find(':');
  const auto first = number_in(range.substr(0, colon), 1);
  const auto last = colon == range.npos ? first : number_in(range.substr(colon + 1), lines);
  if (range.empty() || range == ":" || !first.has_value() || !last.has_value()) {
    return fail(ErrorKind::usage, "--range: found \"{}\", expected numbers of lines, as in 10:14",
                printable(range, 40));
  }
  if (*first < 1 || *first > *last || *last > lines) {
    return fail(ErrorKind::usage, "--range: {} is no range of lines, the text has {}, counted from 1",
                printable(range, 40), lines);
  }
  TextPart part;
  for (std::size_t line = 1; line < *first; ++line) part.begin = text.find('\n', part.begin) + 1;
  part.end = part.begin;
  for (std::size_t line = *first; line <= *last; ++line) {
    part.end = std::min(text.find('\n', part.end + (line == *first ? 0 : 1)), text.size());
  }
  return part;
}

}  // namespace plm
