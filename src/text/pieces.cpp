#include "text/pieces.h"

#include <algorithm>
#include <utility>

#include "text/unicode_class.h"

namespace plm {
namespace {

// The matches and what lies between them.
std::vector<SplitRange> with_gaps(const std::vector<SplitRange>& matches, std::size_t size, bool invert) {
  std::vector<SplitRange> ranges;
  ranges.reserve(2 * matches.size() + 1);
  std::size_t end = 0;
  for (const SplitRange& match : matches) {
    if (match.begin > end) ranges.push_back({end, match.begin, invert});
    ranges.push_back({match.begin, match.end, !invert});
    end = match.end;
  }
  if (end < size) ranges.push_back({end, size, invert});
  return ranges;
}

// Joins each range to the one before it where `joins(before, after)` says so.
template <typename Joins>
void join_if(std::vector<SplitRange>& ranges, Joins joins) {
  std::vector<SplitRange> joined;
  bool joined_last = false;
  for (const SplitRange& range : ranges) {
    joined_last = !joined.empty() && joins(joined.back(), range, joined_last);
    if (joined_last) {
      joined.back().end = range.end;
      joined.back().is_match = range.is_match;
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
}

void apply(SplitBehavior behavior, std::vector<SplitRange>& ranges) {
  switch (behavior) {
    case SplitBehavior::isolated: return;
    case SplitBehavior::removed: std::erase_if(ranges, [](const SplitRange& range) { return range.is_match; }); return;
    case SplitBehavior::contiguous:
      return join_if(ranges, [](const auto& a, const auto& b, bool) { return a.is_match == b.is_match; });
    case SplitBehavior::merged_with_previous:  // of several matches in a row only the first
      return join_if(ranges, [](const auto& a, const auto& b, bool) { return b.is_match && !a.is_match; });
    case SplitBehavior::merged_with_next:  // of several matches in a row only the last
      return join_if(ranges,
                     [](const auto& a, const auto& b, bool joined) { return a.is_match && !b.is_match && !joined; });
  }
}

}  // namespace

Pieces::Pieces(std::string_view text, bool begins_text) : begins_text_(begins_text) {
  if (!text.empty()) list_.push_back(text);
}

void Pieces::replace(std::vector<std::string_view> list, bool begins_text) {
  list_ = std::move(list);
  begins_text_ = begins_text;
}

std::string_view Pieces::keep(std::string text) {
  return *kept_.emplace_back(std::make_unique<const std::string>(std::move(text)));
}

SplitFinder find_pattern(std::shared_ptr<const Pattern> pattern) {
  return [pattern = std::move(pattern)](std::string_view piece, std::vector<SplitRange>& matches) -> Result<void> {
    PatternSearch search(piece.size());
    for (std::size_t from = 0; from < piece.size();) {
      PLM_TRY_ASSIGN(const auto match, pattern->find(piece, from, search));
      if (!match) break;
      matches.push_back({match->begin, match->end, true});
      from = match->end;
      if (match->begin == match->end && from < piece.size()) from += character_at(piece, from).bytes;
    }
    return {};
  };
}

SplitFinder find_text(std::string text) {
  return [text = std::move(text)](std::string_view piece, std::vector<SplitRange>& matches) -> Result<void> {
    if (text.empty()) return {};
    for (std::size_t at = piece.find(text); at != std::string_view::npos; at = piece.find(text, at + text.size())) {
      matches.push_back({at, at + text.size(), true});
    }
    return {};
  };
}

SplitFinder find_characters(bool (*matches_character)(char32_t)) {
  return [matches_character](std::string_view piece, std::vector<SplitRange>& matches) -> Result<void> {
    for (std::size_t at = 0; at < piece.size();) {
      const Character character = character_at(piece, at);
      if (matches_character(character.code)) matches.push_back({at, at + character.bytes, true});
      at += character.bytes;
    }
    return {};
  };
}

Result<void> split(Pieces& pieces, const SplitFinder& find, SplitBehavior behavior, bool invert) {
  std::vector<std::string_view> list;
  list.reserve(pieces.list().size());
  bool begins_text = pieces.begins_text();
  for (const std::string_view piece : pieces.list()) {
    std::vector<SplitRange> matches;
    PLM_TRY(find(piece, matches));
    std::vector<SplitRange> ranges = with_gaps(matches, piece.size(), invert);
    apply(behavior, ranges);
    if (list.empty() && (ranges.empty() || ranges.front().begin > 0)) begins_text = false;
    for (const SplitRange& range : ranges) {
      if (range.end > range.begin) list.push_back(piece.substr(range.begin, range.end - range.begin));
    }
  }
  pieces.replace(std::move(list), begins_text);
  return {};
}

}  // namespace plm
