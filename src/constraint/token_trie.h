// The tokens of a vocabulary as a tree of their bytes, in parts: tokens made only of letters, only of plain text and so
// on stand apart, because a constraint often allows all of such a part at once.
//
// A part lies in one list in the order of a depth-first walk, each node with the place behind all that hang on it, so
// that a walk is a loop and leaving out a branch is one jump (llguidance calls this the flat token trie).
// Immutable, so threads may share it. Tested by tests/constraint/test_token_trie.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/code_points.h"
#include "text/token.h"

namespace plm {

class Vocabulary;

/// One bit a token.
class TokenBits {
 public:
  TokenBits() = default;
  explicit TokenBits(std::size_t tokens) : words_((tokens + 63) / 64, 0) {}
  void insert(TokenId id) { words_[static_cast<std::size_t>(id) >> 6U] |= std::uint64_t{1} << (id & 63); }
  void erase(TokenId id) { words_[static_cast<std::size_t>(id) >> 6U] &= ~(std::uint64_t{1} << (id & 63)); }
  [[nodiscard]] bool contains(TokenId id) const {
    return (words_[static_cast<std::size_t>(id) >> 6U] >> (id & 63) & 1U) != 0;
  }
  void insert_all(const TokenBits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<TokenId>(64 * i + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
  }
  friend bool operator==(const TokenBits&, const TokenBits&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

class TokenTrie {
 public:
  struct Node {
    std::uint32_t end = 0;     // the place behind all that begin like this
    std::uint32_t tokens = 0;  // into token_ids: those of this text; up to the next node's
    std::uint16_t depth = 0;   // bytes before `byte`
    std::uint8_t byte = 0;
  };
  /// Tokens whose characters are all in one set.
  struct Part {
    CodePoints characters;     // empty: the tokens that are in no other part
    std::vector<Node> nodes;   // and one behind the last, for `tokens`
    std::vector<TokenId> ids;  // sorted by text
    TokenBits bits;
    std::size_t longest = 0;  // bytes
  };

  /// `texts`: bytes of each token, empty for those that are no text. `end_tokens`: those that end the text.
  TokenTrie(std::span<const std::string> texts, std::vector<TokenId> end_tokens);
  static std::shared_ptr<const TokenTrie> of(const Vocabulary& vocabulary);

  [[nodiscard]] std::size_t size() const { return places_.size() - 1; }
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  [[nodiscard]] std::string_view text(TokenId id) const {
    const auto at = static_cast<std::size_t>(id);
    return std::string_view(bytes_).substr(places_[at], places_[at + 1] - places_[at]);
  }
  [[nodiscard]] std::span<const TokenId> end_tokens() const { return end_tokens_; }
  [[nodiscard]] std::size_t longest() const { return longest_; }  ///< bytes of the longest token
  /// Whether every byte is a token of its own, so that whatever was begun can be ended.
  [[nodiscard]] bool has_every_byte() const { return has_every_byte_; }
  /// Fewest tokens that spell `text`, in order; empty if none do.
  [[nodiscard]] std::vector<TokenId> fewest_tokens(std::string_view text) const;
  /// Whether a token begins with `text` and goes on: calls `visit(token)` until it returns true.
  template <typename Visit>
  bool any_longer(std::string_view text, Visit visit) const {
    for (auto at = sorted_begin(text); at != sorted_.end() && this->text(*at).starts_with(text); ++at) {
      if (this->text(*at).size() > text.size() && visit(*at)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] std::vector<TokenId>::const_iterator sorted_begin(std::string_view text) const;
  void build(Part& part) const;

  std::string bytes_;
  std::vector<std::size_t> places_;
  std::vector<TokenId> end_tokens_;
  std::vector<TokenId> sorted_;  // all with a text, by text and id
  std::vector<Part> parts_;
  std::size_t longest_ = 0;
  bool has_every_byte_ = false;
};

}  // namespace plm
