#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/token_spelling.h"

namespace plm {
namespace {

// A number that is lower for a better score.
std::uint32_t rank_of_score(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // no negative zero
  return (bits >> 31) != 0 ? bits : 0x7FFFFFFFU - bits;
}

constexpr auto kMarkLead = static_cast<unsigned char>(kSpaceMark[0]);

}  // namespace

class Bpe::Encoder final : public PieceEncoder {
 public:
  Encoder(const Bpe& bpe, std::size_t text_bytes)
      : bpe_(bpe), recent_(std::clamp<std::size_t>(std::bit_ceil(text_bytes), 16, 32768)) {}

  void append(std::string_view piece, std::vector<TokenId>& ids) override {
    if (bpe_.rules_.whole_pieces) {
      const TokenId whole = find_whole(piece);
      if (whole != kNoToken) return ids.push_back(whole);
    }
    start(piece);
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
    std::uint32_t begin;          // byte of text_
    std::int32_t previous, next;  // -1: none
    Merge merge;                  // with the next; of a symbol merged away: none
  };
  // What two neighbours became when they were looked up last.
  struct Recent {
    TokenId left = kNoToken, right = kNoToken;
    Merge merge;
  };

  TokenId find_whole(std::string_view piece) {
    const Vocabulary& vocabulary = bpe_.vocabulary_;
    if (bpe_.rules_.starts_as_characters) {
      const auto id = vocabulary.find(piece);  // may be a byte's token, as for Hugging Face
      return id && (bpe_.is_text(*id) || vocabulary.type(*id) == TokenType::byte) ? *id : kNoToken;
    }
    spelled_.clear();
    append_in_byte_alphabet(piece, spelled_);
    const auto id = vocabulary.find(spelled_);
    return id && vocabulary.type(*id) == TokenType::normal ? *id : kNoToken;
  }

  [[nodiscard]] Symbol& symbol(std::int32_t at) { return symbols_[static_cast<std::size_t>(at)]; }

  void start(std::string_view piece) {
    symbols_.clear();
    spelled_.clear();
    if (!bpe_.rules_.starts_as_characters) {
      start_as_bytes(piece);
    } else {
      start_as_characters(piece);
    }
    if (symbols_.empty()) return;
    symbols_.back().next = -1;
    for (Symbol& symbol : symbols_) look_up_merge(symbol);
  }

  void start_as_bytes(std::string_view piece) {
    for (const char byte : piece) {
      const TokenId id = bpe_.byte_tokens_[static_cast<unsigned char>(byte)];
      if (id == kNoToken && bpe_.drops({&byte, 1})) continue;  // what stands on its sides may merge
      add_symbol(id, spelled_.size());
      append_in_byte_alphabet({&byte, 1}, spelled_);
    }
    text_ = spelled_;
  }

  void start_as_characters(std::string_view piece) {
    const bool may_drop = bpe_.may_drop();
    text_ = piece;
    for (std::size_t at = 0, bytes = 1; at < piece.size(); at += bytes) {
      const auto lead = static_cast<unsigned char>(piece[at]);
      bytes = lead < 0x80 ? 1 : std::max<std::size_t>(utf8_character_length(piece.substr(at)), 1);
      const std::string_view character = piece.substr(at, bytes);
      const TokenId id = lead < 0x80 ? bpe_.ascii_tokens_[lead] : bpe_.find_text(character);
      if (!may_drop) {
        add_symbol(id, at);
      } else if (id != kNoToken || !bpe_.drops(character)) {
        add_symbol(id, spelled_.size());
        spelled_.append(character);
      }
    }
    if (may_drop) text_ = spelled_;
  }

  void add_symbol(TokenId id, std::size_t begin) {
    const auto index = static_cast<std::int32_t>(symbols_.size());
    symbols_.push_back({id, static_cast<std::uint32_t>(begin), index - 1, index + 1, {}});
  }

  // Where the symbol ends.
  [[nodiscard]] std::size_t end_of(const Symbol& left) {
    return left.next < 0 ? text_.size() : symbol(left.next).begin;
  }

  void look_up_merge(Symbol& left) {
    left.merge = {};
    if (left.next < 0) return;
    const Symbol& right = symbol(left.next);
    if (left.id == kNoToken || right.id == kNoToken) {
      if (bpe_.rules_.ranks_by_score) left.merge = merge_of(left, right);
      return;
    }
    // The tables of a large vocabulary do not fit the processor's caches, the pairs of a text do.
    const auto pair = std::uint64_t{static_cast<std::uint32_t>(left.id)} << 32 | static_cast<std::uint32_t>(right.id);
    Recent& recent = recent_[(pair * 0x9E3779B97F4A7C15U) >> 40 & (recent_.size() - 1)];
    if (recent.left != left.id || recent.right != right.id) recent = {left.id, right.id, merge_of(left, right)};
    left.merge = recent.merge;
  }

  Merge merge_of(const Symbol& left, const Symbol& right) {
    const std::string_view text = text_.substr(left.begin, end_of(right) - left.begin);
    const TokenId product = bpe_.vocabulary_.find(text).value_or(kNoToken);
    if (product == kNoToken) return {};
    if (!bpe_.rules_.ranks_by_score) return {bpe_.merges_.rank(product, right.begin - left.begin), product};
    return bpe_.is_text(product) ? Merge{rank_of_score(bpe_.vocabulary_.score(product)), product} : Merge();
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
      const std::string_view text = text_.substr(left.begin, end_of(left) - left.begin);
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
  std::vector<Recent> recent_;  // a power of two, by the pair's hash
  std::string_view text_;       // the piece as the texts of tokens spell it, without what is dropped
  std::string spelled_;         // holds it where it is not the piece itself
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> queue_;  // rank << 32 | symbol, a heap with the least on top: best rank, then leftmost
};

Bpe::Bpe(const Vocabulary& vocabulary, const BpeRules& rules, MergeList merges)
    : vocabulary_(vocabulary), rules_(rules), merges_(std::move(merges)) {
  find_byte_tokens();
  if (!rules_.starts_as_characters) return;
  for (std::size_t i = 0; i < ascii_tokens_.size(); ++i) {
    const char character = static_cast<char>(i);
    ascii_tokens_[i] = find_text({&character, 1});
  }
}

Result<std::unique_ptr<Bpe>> Bpe::load(const Vocabulary& vocabulary, const BpeRules& rules,
                                       std::vector<std::string>& warnings) {
  MergeList merges;
  if (!rules.ranks_by_score) {
    PLM_TRY_ASSIGN(merges, MergeList::load(vocabulary, warnings));
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

void Bpe::find_cuts() const {
  cuts_.neighbours.assign(std::size_t{1} << 16, 0);
  // Unknown characters on both sides of a cut would be one, and where characters are dropped those on their sides may
  // merge.
  const bool spells_all = rules_.byte_fallback && std::ranges::count(byte_tokens_, kNoToken) == 0;
  const bool drops = may_drop() && !spells_all, fuses = rules_.fuses_unknown && !spells_all;
  if (drops || (fuses && find_text(kSpaceMark) == kNoToken)) cuts_.before_mark.set();
  if (drops || fuses) cuts_.neighbours.assign(cuts_.neighbours.size(), 1);
  for (const std::string_view text : vocabulary_.texts()) {
    for (std::size_t at = 1; at < text.size(); ++at) {
      const auto before = static_cast<unsigned char>(text[at - 1]), first = static_cast<unsigned char>(text[at]);
      cuts_.neighbours[std::size_t{before} << 8 | first] = 1;
      if (first == kMarkLead && text.substr(at).starts_with(kSpaceMark)) cuts_.before_mark.set(before);
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
  return may_drop() && !(rules_.byte_fallback && spells_bytes(character));
}

std::size_t Bpe::first_part(std::string_view text) const {
  if (!cuts_pieces()) return text.size();
  for (std::size_t at = 1; at < text.size(); ++at) {
    const auto before = static_cast<unsigned char>(text[at - 1]), first = static_cast<unsigned char>(text[at]);
    if ((first & 0xC0U) == 0x80U) continue;  // within a character
    if (cuts_.neighbours[std::size_t{before} << 8 | first] == 0) return at;
    if (first == kMarkLead && !cuts_.before_mark.test(before) && text.substr(at).starts_with(kSpaceMark)) return at;
  }
  return text.size();
}

std::unique_ptr<PieceEncoder> Bpe::encoder(std::size_t text_bytes) const {
  if (cuts_pieces()) std::call_once(cuts_found_, [this] { find_cuts(); });
  return std::make_unique<Encoder>(*this, text_bytes);
}

}  // namespace plm
