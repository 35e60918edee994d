#include "text/unigram.h"

#include <algorithm>
#include <limits>

#include "text/token_spelling.h"
#include "text/unicode_class.h"

namespace plm {
namespace {

constexpr double kUnknownPenalty = 10.0;

}  // namespace

class Unigram::Encoder final : public PieceEncoder {
 public:
  explicit Encoder(const Unigram& unigram) : unigram_(unigram) {}

  void append(std::string_view piece, std::vector<TokenId>& ids) override {
    search(piece);
    // Back along the best way; unknown characters in a row are one stretch.
    path_.clear();
    for (std::size_t end = piece.size(); end > 0; end = best_[end].begin) {
      const bool joins = best_[end].id == kNoToken && !path_.empty() && path_.back().id == kNoToken;
      if (joins) {
        path_.back().begin = best_[end].begin;
      } else {
        path_.push_back({best_[end].id, best_[end].begin, end});
      }
    }
    for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
      if (step->id != kNoToken) {
        ids.push_back(step->id);
      } else {
        append_unknown(piece.substr(step->begin, step->end - step->begin), ids);
      }
    }
  }

 private:
  // The best way to spell the piece up to some byte: its sum and its last token (kNoToken: an unknown character).
  struct Best {
    double score = 0;
    std::size_t begin = kUnreached;
    TokenId id = kNoToken;
  };
  struct Step {
    TokenId id;
    std::size_t begin, end;
  };
  static constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

  void search(std::string_view piece) {
    best_.assign(piece.size() + 1, Best());
    for (std::size_t at = 0; at < piece.size();) {
      const double so_far = best_[at].score;
      const std::size_t character = character_at(piece, at).bytes;
      bool spells_character = false;
      const auto reach = [&](std::size_t bytes, double score, TokenId id) {
        Best& there = best_[at + bytes];
        if (there.begin == kUnreached || score > there.score) there = {score, at, id};
      };
      unigram_.tokens_.for_each_prefix(piece.substr(at), [&](std::size_t bytes, TokenId id) {
        reach(bytes, so_far + unigram_.score(id), id);
        spells_character = spells_character || bytes == character;
      });
      if (!spells_character) reach(character, so_far + unigram_.unknown_score_, kNoToken);
      at += character;
    }
  }

  void append_unknown(std::string_view text, std::vector<TokenId>& ids) const {
    const auto token_of = [this](char byte) { return unigram_.byte_tokens_[static_cast<unsigned char>(byte)]; };
    const auto has_token = [&](char byte) { return token_of(byte) != kNoToken; };
    if (unigram_.rules_.byte_fallback && std::all_of(text.begin(), text.end(), has_token)) {
      for (const char byte : text) ids.push_back(token_of(byte));
    } else if (unigram_.rules_.unknown) {
      ids.push_back(*unigram_.rules_.unknown);
    }
  }

  const Unigram& unigram_;
  std::vector<Best> best_;
  std::vector<Step> path_;
};

Unigram::Unigram(const Vocabulary& vocabulary, const UnigramRules& rules) : vocabulary_(vocabulary), rules_(rules) {
  byte_tokens_.fill(kNoToken);
  std::vector<PrefixTree::Entry> entries;
  entries.reserve(vocabulary.size());
  double lowest = std::numeric_limits<double>::max();
  for (TokenId id = 0; vocabulary.contains(id); ++id) {
    const std::string_view text = vocabulary.text(id);
    switch (vocabulary.type(id)) {
      case TokenType::normal: lowest = std::min<double>(lowest, vocabulary.score(id)); [[fallthrough]];
      case TokenType::user_defined:
      case TokenType::unused:
        entries.emplace_back(text, id);
        marks_begin_tokens_ = marks_begin_tokens_ && text.find(kSpaceMark, 1) == std::string_view::npos;
        break;
      case TokenType::byte: byte_tokens_[*byte_of_hex_token(text)] = id; break;
      default: break;
    }
  }
  tokens_ = PrefixTree(std::move(entries));
  unknown_score_ = lowest - kUnknownPenalty;
  // A mark that is unknown would join the unknown characters on both sides of a cut.
  marks_begin_tokens_ = marks_begin_tokens_ && vocabulary.find(kSpaceMark).has_value();
}

double Unigram::score(TokenId id) const {
  return vocabulary_.type(id) == TokenType::user_defined ? 0.0 : static_cast<double>(vocabulary_.score(id));
}

std::size_t Unigram::first_part(std::string_view text) const {
  if (!marks_begin_tokens_) return text.size();
  return std::min(text.find(kSpaceMark, 1), text.size());
}

std::unique_ptr<PieceEncoder> Unigram::encoder(std::size_t) const { return std::make_unique<Encoder>(*this); }

}  // namespace plm
