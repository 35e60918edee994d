#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/merge_list.h"
#include "text/token_spelling.h"

namespace plm {
namespace {

// A number that is lower for a better score.
std::uint32_t rank_of_score(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // no negative zero
  return (bits >> 31) != 0 ? bits : 0x7FFFFFFFU - bits;
}

}  // namespace

class Bpe::Encoder final : public PieceEncoder {
 public:
  Encoder(const Bpe& bpe, std::size_t text_bytes)
      : bpe_(bpe), recent_(std::clamp<std::size_t>(std::bit_ceil(text_bytes), 16, 8192)) {}

  void append(std::string_view piece, std::vector<TokenId>& ids) override {
    if (bpe_.rules_.whole_pieces) {
      const TokenId whole = find_whole(piece);
      if (whole != kNoToken) return ids.push_back(whole);
    }
    piece_ = piece;
    start();
    if (symbols_.size() <= kFewSymbols) {
      merge_few();
    } else {
      merge_many();
    }
    finish(ids);
  }

 private:
  static constexpr std::size_t kFewSymbols = 32;

  // A symbol of the piece: a chain of those not yet merged away, each with what merging it with the next one gives.
  struct Symbol {
    TokenId id;
    std::uint32_t begin;          // byte of the piece
    std::int32_t previous, next;  // -1: none
    Merge merge;                  // with the next; of a symbol merged away: none
  };

  TokenId find_whole(std::string_view piece) {
    if (bpe_.rules_.starts_as_characters) return bpe_.find_text(piece);
    spelled_.clear();
    append_in_byte_alphabet(piece, spelled_);
    const TokenId id = bpe_.find_text(spelled_);
    return id != kNoToken && bpe_.vocabulary_.type(id) == TokenType::normal ? id : kNoToken;
  }

  [[nodiscard]] Symbol& symbol(std::int32_t at) { return symbols_[static_cast<std::size_t>(at)]; }

  void start() {
    symbols_.clear();
    for (std::size_t at = 0; at < piece_.size();) {
      std::size_t bytes = 1;
      TokenId id;
      if (bpe_.rules_.starts_as_characters) {
        const auto lead = static_cast<unsigned char>(piece_[at]);
        if (lead >= 0x80) bytes = std::max<std::size_t>(utf8_character_length(piece_.substr(at)), 1);
        id = lead < 0x80 ? bpe_.ascii_tokens_[lead] : bpe_.find_text(piece_.substr(at, bytes));
      } else {
        id = bpe_.byte_tokens_[static_cast<unsigned char>(piece_[at])];
      }
      if (id == kNoToken && bpe_.drops(piece_.substr(at, bytes))) {  // what stands on its sides may merge
        at += bytes;
        continue;
      }
      const auto index = static_cast<std::int32_t>(symbols_.size());
      symbols_.push_back({id, static_cast<std::uint32_t>(at), index - 1, index + 1, {}});
      at += bytes;
    }
    if (symbols_.empty()) return;
    symbols_.back().next = -1;
    for (Symbol& symbol : symbols_) look_up_merge(symbol);
  }

  // Where the symbol ends.
  [[nodiscard]] std::size_t end_of(const Symbol& left) {
    return left.next < 0 ? piece_.size() : symbol(left.next).begin;
  }

  void look_up_merge(Symbol& left) {
    left.merge = {};
    if (left.next < 0) return;
    const Symbol& right = symbol(left.next);
    const bool by_score = bpe_.rules_.ranks_by_score;
    if (left.id == kNoToken || right.id == kNoToken) {
      if (by_score) left.merge = merge_by_score(left, right);
      return;
    }
    // The tables of a large vocabulary do not fit the processor's caches, the pairs of a text do.
    const auto pair = std::uint64_t{static_cast<std::uint32_t>(left.id)} << 32 | static_cast<std::uint32_t>(right.id);
    MergeEntry& recent = recent_[(pair * 0x9E3779B97F4A7C15U) >> 40 & (recent_.size() - 1)];
    if (recent.left != left.id || recent.right != right.id) {
      recent = {left.id, right.id, by_score ? merge_by_score(left, right) : bpe_.merges_.find(left.id, right.id)};
    }
    left.merge = recent.merge;
  }

  Merge merge_by_score(const Symbol& left, const Symbol& right) {
    const TokenId product = bpe_.find_text(piece_.substr(left.begin, end_of(right) - left.begin));
    return product == kNoToken ? Merge() : Merge{rank_of_score(bpe_.vocabulary_.score(product)), product};
  }

  // Looks for the best merge in the whole chain each time: faster than a heap while the chain is short.
  void merge_few() {
    while (true) {
      std::int32_t best = -1;
      std::uint32_t best_rank = Merge::kNoRank;
      for (std::int32_t at = 0; at >= 0 && !symbols_.empty(); at = symbol(at).next) {
        if (symbol(at).merge.rank < best_rank) best = at, best_rank = symbol(at).merge.rank;
      }
      if (best < 0) return;
      merge_with_next(best);
      if (symbol(best).previous >= 0) look_up_merge(symbol(symbol(best).previous));
    }
  }

  void merge_many() {
    queue_.clear();
    for (std::size_t at = 0; at < symbols_.size(); ++at) propose(static_cast<std::int32_t>(at));
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const std::uint64_t candidate = queue_.back();
      queue_.pop_back();
      const auto at = static_cast<std::int32_t>(candidate & 0xFFFFFFFFU);
      // A candidate is out of date when its symbol has merged meanwhile, or its neighbour has.
      if (symbol(at).merge.rank != candidate >> 32) continue;
      merge_with_next(at);
      propose(at);
      if (const std::int32_t previous = symbol(at).previous; previous >= 0) {
        look_up_merge(symbol(previous));
        propose(previous);
      }
    }
  }

  void propose(std::int32_t at) {
    if (symbol(at).merge.rank == Merge::kNoRank) return;
    queue_.push_back(std::uint64_t{symbol(at).merge.rank} << 32 | static_cast<std::uint32_t>(at));
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void merge_with_next(std::int32_t at) {
    Symbol& left = symbol(at);
    Symbol& right = symbol(left.next);
    left.id = left.merge.product;
    left.next = right.next;
    right.merge = {};
    if (left.next >= 0) symbol(left.next).previous = at;
    look_up_merge(left);
  }

  void finish(std::vector<TokenId>& ids) {
    bool last_is_unknown = false;
    for (std::int32_t at = symbols_.empty() ? -1 : 0; at >= 0; at = symbol(at).next) {
      const Symbol& left = symbol(at);
      if (left.id != kNoToken) {
        ids.push_back(left.id);
        last_is_unknown = false;
        continue;
      }
      const std::string_view text = piece_.substr(left.begin, end_of(left) - left.begin);
      if (bpe_.rules_.byte_fallback && append_bytes(text, ids)) {
        last_is_unknown = false;
      } else if (bpe_.rules_.unknown) {
        if (!last_is_unknown || !bpe_.rules_.fuses_unknown) ids.push_back(*bpe_.rules_.unknown);
        last_is_unknown = true;
      }
    }
  }

  // All bytes of `text` as byte tokens, or nothing.
  bool append_bytes(std::string_view text, std::vector<TokenId>& ids) const {
    if (!bpe_.spells_bytes(text)) return false;
    for (const char byte : text) ids.push_back(bpe_.byte_tokens_[static_cast<unsigned char>(byte)]);
    return true;
  }

  const Bpe& bpe_;
  std::vector<MergeEntry> recent_;  // a power of two, by the pair's hash: what was looked up last
  std::string_view piece_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> queue_;  // rank << 32 | symbol, a heap with the least on top: best rank, then leftmost
  std::string spelled_;
};

Bpe::Bpe(const Vocabulary& vocabulary, const BpeRules& rules, MergeTable merges)
    : vocabulary_(vocabulary), rules_(rules), merges_(std::move(merges)) {
  find_byte_tokens();
  if (!rules_.starts_as_characters) return;
  for (std::size_t i = 0; i < ascii_tokens_.size(); ++i) {
    const char character = static_cast<char>(i);
    ascii_tokens_[i] = find_text({&character, 1});
  }
  find_joints();
}

Result<std::unique_ptr<Bpe>> Bpe::load(const Vocabulary& vocabulary, const BpeRules& rules,
                                       std::vector<std::string>& warnings) {
  MergeTable merges;
  if (!rules.ranks_by_score) {
    PLM_TRY_ASSIGN(merges, load_merges(vocabulary, warnings));
  }
  return std::unique_ptr<Bpe>(new Bpe(vocabulary, rules, std::move(merges)));
}

void Bpe::find_byte_tokens() {
  byte_tokens_.fill(kNoToken);
  if (rules_.starts_as_characters && !rules_.byte_fallback) return;
  for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char character = static_cast<char>(byte);
    std::string spelled;
    if (rules_.starts_as_characters) {
      spelled = fmt::format("<0x{:02X}>", byte);
    } else {
      append_in_byte_alphabet({&character, 1}, spelled);
    }
    byte_tokens_[byte] = vocabulary_.find(spelled).value_or(kNoToken);
  }
}

void Bpe::find_joints() {
  // A mark that is unknown would join the unknown characters on both sides of a cut, and where characters are dropped
  // those on their sides may merge.
  if (rules_.fuses_unknown && find_text(kSpaceMark) == kNoToken) joints_.set();
  if (!rules_.ranks_by_score && !rules_.byte_fallback && !rules_.unknown) joints_.set();
  for (TokenId id = 0; vocabulary_.contains(id); ++id) {
    const std::string_view text = vocabulary_.text(id);
    for (std::size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos; at = text.find(kSpaceMark, at + 1)) {
      joints_.set(static_cast<unsigned char>(text[at - 1]));
    }
  }
}

// Whether ordinary text may become this token.
bool Bpe::is_text(TokenId id) const {
  const TokenType type = vocabulary_.type(id);
  return type == TokenType::normal || type == TokenType::user_defined || type == TokenType::unused;
}

TokenId Bpe::find_text(std::string_view text) const {
  const auto id = vocabulary_.find(text);
  return id && is_text(*id) ? *id : kNoToken;
}

bool Bpe::spells_bytes(std::string_view text) const {
  return std::all_of(text.begin(), text.end(),
                     [this](char byte) { return spells_byte(static_cast<unsigned char>(byte)); });
}

// Whether nothing stands for a character that is no token.
bool Bpe::drops(std::string_view character) const {
  return !rules_.ranks_by_score && !rules_.unknown && !(rules_.byte_fallback && spells_bytes(character));
}

std::size_t Bpe::first_part(std::string_view text) const {
  if (!rules_.starts_as_characters || rules_.whole_pieces) return text.size();
  for (std::size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos; at = text.find(kSpaceMark, at + 1)) {
    if (!joints_.test(static_cast<unsigned char>(text[at - 1]))) return at;
  }
  return text.size();
}

std::unique_ptr<PieceEncoder> Bpe::encoder(std::size_t text_bytes) const {
  return std::make_unique<Encoder>(*this, text_bytes);
}

}  // namespace plm
