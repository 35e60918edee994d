#include "text/special_matcher.h"

#include <algorithm>

namespace plm {
namespace {

using Entry = SpecialMatcher::Entry;

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.first.empty(); });
  std::sort(entries_.begin(), entries_.end());
  const auto equal_texts = [](const Entry& a, const Entry& b) { return a.first == b.first; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), equal_texts), entries_.end());
  for (const Entry& entry : entries_) ++begin_of_byte_[byte_at(entry.first, 0) + 1U];
  for (std::size_t byte = 1; byte < begin_of_byte_.size(); ++byte) begin_of_byte_[byte] += begin_of_byte_[byte - 1];
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    const unsigned char byte = byte_at(text, at);
    if (begin_of_byte_[byte] == begin_of_byte_[byte + 1U]) continue;
    if (const Entry* entry = longest_prefix(text.substr(at))) return Match{at, at + entry->first.size(), entry->second};
  }
  return std::nullopt;
}

// The longest entry that `text`, not empty, begins with; nullptr when there is none.
const SpecialMatcher::Entry* SpecialMatcher::longest_prefix(std::string_view text) const {
  const Entry* longest = nullptr;
  auto low = entries_.begin() + begin_of_byte_[byte_at(text, 0)];
  auto high = entries_.begin() + begin_of_byte_[byte_at(text, 0) + 1U];
  // All entries in [low, high) agree with `text` in the first `length` bytes; a complete one sorts before longer ones.
  for (std::size_t length = 1; low != high; ++length) {
    if (low->first.size() == length) longest = &*low++;
    if (length == text.size()) break;
    const unsigned char next = byte_at(text, length);
    low = std::partition_point(low, high, [&](const Entry& entry) { return byte_at(entry.first, length) < next; });
    high = std::partition_point(low, high, [&](const Entry& entry) { return byte_at(entry.first, length) == next; });
  }
  return longest;
}

}  // namespace plm
