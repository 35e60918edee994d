#include "constraint/token_trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "text/unicode_class.h"
#include "text/vocabulary.h"

namespace plm {
namespace {

// From the narrowest to the widest; a token belongs to the first that holds it.
std::vector<CodePoints> character_sets() {
  const CodePoints letters{{'A', 'Z'}, {'a', 'z'}};
  const CodePoints plain{{' ', '!'}, {'#', '['}, {']', '~'}};  // what JSON strings hold unescaped, in ASCII
  CodePoints text = plain;
  text.add(0xA0, kLastCodePoint);
  return {letters, plain, text};
}

bool is_within(std::string_view text, const CodePoints& set) {
  for (std::size_t at = 0; at < text.size();) {
    if (utf8_character_length(text.substr(at)) == 0) return false;
    const Character next = character_at(text, at);
    if (!set.contains(next.code)) return false;
    at += next.bytes;
  }
  return true;
}

}  // namespace

std::size_t TokenBits::count() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

TokenTrie::TokenTrie(std::span<const std::string> texts, std::vector<TokenId> end_tokens)
    : end_tokens_(std::move(end_tokens)) {
  for (std::size_t id = 0; id < texts.size(); ++id) {
    places_.push_back(bytes_.size());
    bytes_ += texts[id];
    longest_ = std::max(longest_, texts[id].size());
    if (!texts[id].empty()) sorted_.push_back(static_cast<TokenId>(id));
  }
  places_.push_back(bytes_.size());
  std::sort(sorted_.begin(), sorted_.end(), [this](TokenId a, TokenId b) {
    const int order = text(a).compare(text(b));
    return order < 0 || (order == 0 && a < b);
  });
  for (CodePoints& set : character_sets()) parts_.push_back({.characters = std::move(set), .bits = TokenBits(size())});
  parts_.push_back({.bits = TokenBits(size())});
  std::array<bool, 256> single{};
  for (const TokenId id : sorted_) {
    const auto holds = [&](const Part& part) {
      return part.characters.empty() || is_within(text(id), part.characters);
    };
    Part& part = *std::find_if(parts_.begin(), parts_.end(), holds);
    part.ids.push_back(id);
    part.bits.insert(id);
    part.longest = std::max(part.longest, text(id).size());
    if (text(id).size() == 1) single[static_cast<unsigned char>(text(id)[0])] = true;
  }
  has_every_byte_ = std::ranges::all_of(single, [](bool there) { return there; });
  for (Part& part : parts_) build(part);
}

std::shared_ptr<const TokenTrie> TokenTrie::of(const Vocabulary& vocabulary) {
  std::vector<std::string> texts(vocabulary.size());
  for (std::size_t id = 0; id < texts.size(); ++id) vocabulary.append_bytes(static_cast<TokenId>(id), texts[id]);
  const auto ends = vocabulary.end_of_generation();
  for (const TokenId end : ends) texts[static_cast<std::size_t>(end)].clear();
  return std::make_shared<const TokenTrie>(texts, std::vector<TokenId>(ends.begin(), ends.end()));
}

// The ids are sorted, so that texts with a common beginning lie side by side.
void TokenTrie::build(Part& part) const {
  std::vector<std::uint32_t> open;  // nodes of the beginnings of the text before
  std::string_view before;
  const auto close = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back())
      part.nodes[open.back()].end = static_cast<std::uint32_t>(part.nodes.size());
  };
  for (std::size_t i = 0; i < part.ids.size(); ++i) {
    const std::string_view now = text(part.ids[i]);
    if (now == before) continue;
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, now).in2 - now.begin());
    close(common);
    for (std::size_t depth = common; depth < now.size(); ++depth) {
      open.push_back(static_cast<std::uint32_t>(part.nodes.size()));
      part.nodes.push_back({.tokens = static_cast<std::uint32_t>(i),
                            .depth = static_cast<std::uint16_t>(depth),
                            .byte = static_cast<std::uint8_t>(now[depth])});
    }
    before = now;
  }
  close(0);
  // A node's own tokens end where the next node's begin: those on the way to a text have none.
  part.nodes.push_back({.tokens = static_cast<std::uint32_t>(part.ids.size())});
}

std::vector<TokenId>::const_iterator TokenTrie::sorted_begin(std::string_view text) const {
  return std::lower_bound(sorted_.begin(), sorted_.end(), text,
                          [this](TokenId id, std::string_view value) { return this->text(id) < value; });
}

std::vector<TokenId> TokenTrie::fewest_tokens(std::string_view text) const {
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<std::pair<std::size_t, TokenId>> best(text.size() + 1, {kNever, kNoToken});  // from there to the end
  best[text.size()].first = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    for (std::size_t length = std::min(longest_, text.size() - at); length > 0; --length) {
      if (best[at + length].first == kNever || best[at + length].first + 1 >= best[at].first) continue;
      const auto found = sorted_begin(text.substr(at, length));
      if (found != sorted_.end() && this->text(*found) == text.substr(at, length)) {
        best[at] = {best[at + length].first + 1, *found};
      }
    }
  }
  std::vector<TokenId> tokens;
  if (best[0].first == kNever) return tokens;
  for (std::size_t at = 0; at < text.size(); at += this->text(best[at].second).size())
    tokens.push_back(best[at].second);
  return tokens;
}

}  // namespace plm
