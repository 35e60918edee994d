// Finds all texts of a set that a given text begins with, shortest first: a tree with a node for each prefix.
//
// Built once from the sorted texts; the children of a node lie side by side, sorted by byte.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/token.h"

namespace plm {

class PrefixTree {
 public:
  using Entry = std::pair<std::string_view, TokenId>;

  PrefixTree() = default;
  /// Empty texts are left out; of equal texts the one with the lowest id is found. Nothing is kept of the views.
  explicit PrefixTree(std::vector<Entry> entries);

  /// Calls `found(bytes, id)` for every text that `text` begins with, shortest first.
  template <typename Found>
  void for_each_prefix(std::string_view text, Found found) const {
    if (text.empty()) return;
    std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
    for (std::size_t bytes = 1; node != kNone; ++bytes) {
      if (nodes_[node].id != kNoToken) found(bytes, nodes_[node].id);
      if (bytes == text.size()) return;
      node = child(nodes_[node], static_cast<unsigned char>(text[bytes]));
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Node {
    TokenId id = kNoToken;          // of the text that ends here
    std::uint32_t first_child = 0;  // into nodes_
    std::uint16_t children = 0;
    unsigned char byte = 0;  // that leads here
  };
  [[nodiscard]] std::uint32_t child(const Node& node, unsigned char byte) const;

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_{};
};

}  // namespace plm
