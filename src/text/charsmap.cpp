#include "text/charsmap.h"

#include <utf8proc.h>

#include <cstring>

#include "base/utf8.h"
#include "text/unicode_class.h"

namespace plm {
namespace {

constexpr std::size_t kLongestReplacement = 256;  // bytes; the longest of NFKC has 33

// A unit of the double array: what stands at a node and where its children are.
struct Unit {
  std::uint32_t bits;
  [[nodiscard]] bool has_value() const { return ((bits >> 8) & 1U) != 0; }
  [[nodiscard]] std::uint32_t value() const { return bits & 0x7FFFFFFFU; }
  [[nodiscard]] std::uint32_t label() const { return bits & 0x800000FFU; }
  [[nodiscard]] std::uint32_t offset() const { return (bits >> 10) << ((bits & 0x200U) >> 6); }
};

}  // namespace

Result<Charsmap> Charsmap::parse(std::string bytes) {
  std::uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof trie_bytes) {
    return fail(ErrorKind::bad_input, "character map of {} bytes, expected at least 4; the file is damaged",
                bytes.size());
  }
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  const std::size_t replacements_begin = sizeof trie_bytes + std::size_t{trie_bytes};
  if (trie_bytes % 4 != 0 || replacements_begin > bytes.size()) {
    return fail(ErrorKind::bad_input, "character map of {} bytes claims a trie of {} bytes; the file is damaged",
                bytes.size(), trie_bytes);
  }
  Charsmap map;
  map.units_.resize(trie_bytes / 4);
  std::memcpy(map.units_.data(), bytes.data() + sizeof trie_bytes, trie_bytes);
  map.replacements_ = bytes.substr(replacements_begin);
  if (!map.replacements_.empty() && map.replacements_.back() != '\0') {
    return fail(ErrorKind::bad_input, "character map: its last replacement does not end; the file is damaged");
  }
  return map;
}

// Calls `found(bytes, offset)` for each entry that `text` begins with, shortest first, until it returns false.
template <typename Found>
void Charsmap::for_each_prefix(std::string_view text, Found found) const {
  if (units_.empty()) return;
  std::size_t at = Unit{units_[0]}.offset();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || Unit{units_[at]}.label() != byte) return;
    const Unit unit{units_[at]};
    at ^= unit.offset();
    if (!unit.has_value()) continue;
    if (at >= units_.size() || !found(i + 1, Unit{units_[at]}.value())) return;
  }
}

std::string_view Charsmap::replacement_at(std::uint32_t offset) const {
  if (offset >= replacements_.size()) return {};
  const char* begin = replacements_.data() + offset;
  const std::string_view text(begin, strnlen(begin, kLongestReplacement + 1));  // the last byte is zero
  return text.size() <= kLongestReplacement && utf8_is_valid(text) ? text : std::string_view();
}

Charsmap::Match Charsmap::longest_prefix(std::string_view text) const {
  std::size_t longest = 0;
  std::uint32_t value = 0;
  for_each_prefix(text, [&](std::size_t bytes, std::uint32_t offset) {
    longest = bytes;
    value = offset;
    return true;
  });
  return longest == 0 ? Match() : Match{longest, replacement_at(value)};
}

Charsmap::Match Charsmap::shortest_prefix(std::string_view text) const {
  Match match;
  for_each_prefix(text, [&](std::size_t bytes, std::uint32_t offset) {
    match = Match{bytes, replacement_at(offset)};
    return false;
  });
  return match;
}

std::string Charsmap::rewrite(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    Match match = longest_prefix(text);
    // An entry that ends inside a character is none.
    const bool is_cut = match.bytes < text.size() && (static_cast<unsigned char>(text[match.bytes]) & 0xC0U) == 0x80U;
    if (match.bytes == 0 || is_cut) {
      const std::size_t bytes = character_at(text, 0).bytes;
      match = {bytes, text.substr(0, bytes)};
    }
    out.append(match.replacement);
    text.remove_prefix(match.bytes);
  }
  return out;
}

void Charsmap::append_character_rewritten(std::string_view character, std::string& out) const {
  const Match match = shortest_prefix(character);
  out.append(match.bytes > 0 ? match.replacement : character);
}

std::string Charsmap::rewrite_graphemes(std::string_view text) const {
  constexpr std::size_t kLongestGrapheme = 5;
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    utf8proc_int32_t state = 0;
    for (Character last = character_at(text, at);; last = character_at(text, end)) {
      end += last.bytes;
      if (end == text.size()) break;
      const char32_t next = character_at(text, end).code;
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.code),
                                           static_cast<utf8proc_int32_t>(next), &state) != 0) {
        break;
      }
    }
    const std::string_view grapheme = text.substr(at, end - at);
    at = end;
    const Match whole = grapheme.size() <= kLongestGrapheme ? shortest_prefix(grapheme) : Match();
    if (whole.bytes > 0) {
      out.append(whole.replacement);
      continue;
    }
    for (std::size_t i = 0; i < grapheme.size();) {
      const std::size_t bytes = character_at(grapheme, i).bytes;
      append_character_rewritten(grapheme.substr(i, bytes), out);
      i += bytes;
    }
  }
  return out;
}

}  // namespace plm
