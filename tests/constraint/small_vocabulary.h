// A vocabulary for tests: every byte, and some longer tokens. The end token is the last one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constraint/token_trie.h"

namespace plm {

inline std::vector<std::string> small_vocabulary_texts() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* text :
       {"ab",   "abc",  "null",        "nul",  "true",     "{\"",      "\":", "\",\"", "\"}",  "]]", "}}",     "[[",
        "name", "\"na", "hello world", " the", "\xC3\xA9", "\xE6\x97", "12",  "123",   "\\\"", "  ", "x\",\"y"}) {
    texts.emplace_back(text);
  }
  texts.emplace_back();  // <end>
  return texts;
}

inline std::shared_ptr<const TokenTrie> small_vocabulary() {
  const auto texts = small_vocabulary_texts();
  return std::make_shared<const TokenTrie>(texts, std::vector<TokenId>{static_cast<TokenId>(texts.size() - 1)});
}

}  // namespace plm
