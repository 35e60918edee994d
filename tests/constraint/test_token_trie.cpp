#include "constraint/token_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace plm {
namespace {

const std::vector<std::string> kTexts{"a", "", "ab", "abc", "b", "\"", "\":", "ab", "\xC3\xA9", "\xC3", " x"};

TEST(TokenTrie, EveryTextIsInOnePart) {
  const TokenTrie trie(kTexts, {1});
  std::vector<TokenId> seen;
  for (const TokenTrie::Part& part : trie.parts()) {
    std::vector<std::string> path;
    for (std::size_t at = 0; at + 1 < part.nodes.size(); ++at) {
      const TokenTrie::Node& node = part.nodes[at];
      path.resize(node.depth);
      path.emplace_back(1, static_cast<char>(node.byte));
      std::string text;
      for (const std::string& byte : path) text += byte;
      for (std::uint32_t i = node.tokens; i < part.nodes[at + 1].tokens; ++i) {
        EXPECT_EQ(kTexts[static_cast<std::size_t>(part.ids[i])], text);
        EXPECT_TRUE(part.bits.contains(part.ids[i]));
        seen.push_back(part.ids[i]);
      }
      EXPECT_GT(node.end, at);
      if (node.end + 1 < part.nodes.size()) {
        EXPECT_LE(part.nodes[node.end].depth, node.depth);
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<TokenId>{0, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(trie.parts()[0].bits.count(), 5U);  // letters
  EXPECT_EQ(trie.parts()[1].bits.count(), 1U);  // plain text
  EXPECT_EQ(trie.parts()[2].bits.count(), 1U);  // text
  EXPECT_EQ(trie.parts()[3].bits.count(), 3U);
  EXPECT_FALSE(trie.has_every_byte());
}

TEST(TokenTrie, FewestTokensSpellAText) {
  const TokenTrie trie(kTexts, {});
  EXPECT_EQ(trie.fewest_tokens("abcab\":"), (std::vector<TokenId>{3, 2, 6}));
  EXPECT_EQ(trie.fewest_tokens("ac"), std::vector<TokenId>{});
  EXPECT_EQ(trie.fewest_tokens(""), std::vector<TokenId>{});
}

TEST(TokenTrie, LongerTokensAreFound) {
  const TokenTrie trie(kTexts, {});
  std::vector<TokenId> longer;
  (void)trie.any_longer("a", [&](TokenId id) { return longer.push_back(id), false; });
  EXPECT_EQ(longer, (std::vector<TokenId>{2, 7, 3}));
  EXPECT_FALSE(trie.any_longer("abc", [](TokenId) { return true; }));
}

}  // namespace
}  // namespace plm
