#include "text/word_piece.h"

#include <algorithm>
#include <utility>

#include "text/token_spelling.h"

namespace plm {

class WordPiece::Encoder final : public PieceEncoder {
 public:
  explicit Encoder(const WordPiece& model) : model_(model) {}

  void append(std::string_view word, std::vector<TokenId>& ids) override {
    const std::size_t before = ids.size();
    if (!spell(word, ids)) {
      ids.resize(before);
      if (model_.rules_.unknown) ids.push_back(*model_.rules_.unknown);
    }
  }

 private:
  bool spell(std::string_view word, std::vector<TokenId>& ids) const {
    const auto begins_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
    const auto characters = std::count_if(word.begin(), word.end(), begins_character);
    if (static_cast<std::size_t>(characters) > model_.rules_.max_word_characters) return false;
    for (const PrefixTree* tree = &model_.beginning_; !word.empty(); tree = &model_.continuing_) {
      std::size_t longest = 0;
      TokenId token = kNoToken;
      tree->for_each_prefix(word, [&](std::size_t bytes, TokenId id) { longest = bytes, token = id; });
      if (token == kNoToken) return false;
      ids.push_back(token);
      word.remove_prefix(longest);
    }
    return true;
  }

  const WordPiece& model_;
};

WordPiece::WordPiece(const Vocabulary& vocabulary, const WordPieceRules& rules) : rules_(rules) {
  std::vector<PrefixTree::Entry> beginning, continuing;
  for (TokenId id = 0; vocabulary.contains(id); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type != TokenType::normal && type != TokenType::user_defined && type != TokenType::unused) continue;
    const std::string_view text = vocabulary.text(id);
    if (text.starts_with(kSpaceMark)) {
      beginning.emplace_back(text.substr(kSpaceMark.size()), id);
    } else {
      continuing.emplace_back(text, id);
    }
  }
  beginning_ = PrefixTree(std::move(beginning));
  continuing_ = PrefixTree(std::move(continuing));
}

std::unique_ptr<PieceEncoder> WordPiece::encoder(std::size_t) const { return std::make_unique<Encoder>(*this); }

}  // namespace plm
