#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "text/merge_list.h"
#include "text/seeded_hash.h"
#include "text/unicode_form.h"

namespace plm {
namespace {

// How many bytes at the start of `text` are well-formed characters, or belong to none.
std::size_t run_length(std::string_view text, bool well_formed) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t character = utf8_character_length(text.substr(length));
    if ((character > 0) != well_formed) break;
    length += std::max<std::size_t>(character, 1);
  }
  return length;
}

}  // namespace

// Encodes the pieces of one text, remembering where it put the ids of each.
class Bpe::PieceEncoder {
 public:
  PieceEncoder(const Bpe& bpe, std::size_t text_bytes)
      : bpe_(bpe),
        seen_(std::clamp<std::size_t>(std::bit_ceil(text_bytes / 8), 16, 16384)),
        seed_(hash_seed(seen_.data())) {}

  void append(std::string_view piece, std::vector<TokenId>& ids) {
    // A direct-mapped cache: two pieces that want one slot take turns.
    Seen& seen = seen_[hash_text(piece, seed_) & (seen_.size() - 1)];
    const std::size_t begin = ids.size();
    if (seen.piece == piece) {
      ids.resize(begin + seen.count);
      std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(seen.begin), seen.count,
                  ids.begin() + static_cast<std::ptrdiff_t>(begin));
      return;
    }
    if (const auto whole = bpe_.rules_.whole_pieces ? find_whole(piece) : std::nullopt) {
      ids.push_back(*whole);
    } else {
      merge(piece, ids);
    }
    seen = {piece, begin, ids.size() - begin};
  }

 private:
  struct Seen {
    std::string_view piece;
    std::size_t begin = 0, count = 0;  // where in the output its ids are
  };

  // A symbol of the piece: a chain of those not yet merged away, each with what merging it with the next one gives.
  struct Symbol {
    TokenId id;
    std::int32_t previous, next;  // -1: none
    Merge merge;                  // with the next; of a symbol merged away: none
  };

  std::optional<TokenId> find_whole(std::string_view piece) {
    spelled_.clear();
    append_in_byte_alphabet(piece, spelled_);
    const auto id = bpe_.vocabulary_.find(spelled_);
    return id && bpe_.vocabulary_.type(*id) == TokenType::normal ? id : std::nullopt;
  }

  void merge(std::string_view piece, std::vector<TokenId>& ids) {
    start(piece);
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const std::uint64_t candidate = queue_.back();
      queue_.pop_back();
      const auto at = static_cast<std::size_t>(candidate & 0xFFFFFFFFU);
      // A candidate is out of date when its symbol has merged meanwhile, or its neighbour has.
      if (symbols_[at].merge.rank == candidate >> 32) merge_with_next(at);
    }
    for (std::int32_t at = 0; at >= 0; at = symbols_[static_cast<std::size_t>(at)].next) {
      const TokenId id = symbols_[static_cast<std::size_t>(at)].id;
      if (id != kNoToken) ids.push_back(id);
    }
  }

  void start(std::string_view piece) {
    symbols_.resize(piece.size());
    const auto last = static_cast<std::int32_t>(piece.size()) - 1;
    for (std::int32_t at = 0; at <= last; ++at) {
      const TokenId id = bpe_.byte_tokens_[static_cast<unsigned char>(piece[static_cast<std::size_t>(at)])];
      symbols_[static_cast<std::size_t>(at)] = {id, at - 1, at == last ? -1 : at + 1, {}};
    }
    for (std::size_t at = 0; at < symbols_.size(); ++at) propose(at);
  }

  // Looks up what the symbol and its next one merge to, and puts that in the queue.
  void propose(std::size_t at) {
    Symbol& symbol = symbols_[at];
    symbol.merge = {};
    if (symbol.next < 0) return;
    symbol.merge = bpe_.merges_.find(symbol.id, symbols_[static_cast<std::size_t>(symbol.next)].id);
    if (symbol.merge.rank == Merge::kNoRank) return;
    queue_.push_back(std::uint64_t{symbol.merge.rank} << 32 | at);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void merge_with_next(std::size_t at) {
    Symbol& left = symbols_[at];
    Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
    left.id = left.merge.product;
    left.next = right.next;
    right.merge = {};
    if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = static_cast<std::int32_t>(at);
    propose(at);
    if (left.previous >= 0) propose(static_cast<std::size_t>(left.previous));
  }

  const Bpe& bpe_;
  std::vector<Seen> seen_;  // a power of two
  std::uint64_t seed_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> queue_;  // rank << 32 | symbol, a heap with the least on top: best rank, then leftmost
  std::string spelled_;
};

Bpe::Bpe(const Vocabulary& vocabulary, const PreTokenizerRow& rules, PreTokenizer pre_tokenizer, MergeTable merges)
    : vocabulary_(vocabulary), rules_(rules), pre_tokenizer_(std::move(pre_tokenizer)), merges_(std::move(merges)) {
  for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char character = static_cast<char>(byte);
    std::string spelled;
    append_in_byte_alphabet({&character, 1}, spelled);
    byte_tokens_[byte] = vocabulary.find(spelled).value_or(kNoToken);
  }
}

Result<std::unique_ptr<Bpe>> Bpe::load(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  const std::string_view name = vocabulary.pre_tokenizer_name();
  const PreTokenizerRow* rules = find_pre_tokenizer(name);
  if (rules == nullptr) {
    return fail(ErrorKind::bad_input, "{}: tokenizer.ggml.pre is '{}', an unknown pre-tokeniser; known are {}",
                vocabulary.file().path(), printable(name), pre_tokenizer_names());
  }
  PLM_TRY_ASSIGN(PreTokenizer pre_tokenizer, PreTokenizer::compile(rules->expressions));
  PLM_TRY_ASSIGN(MergeTable merges, load_merges(vocabulary, warnings));
  return std::unique_ptr<Bpe>(new Bpe(vocabulary, *rules, std::move(pre_tokenizer), std::move(merges)));
}

Result<void> Bpe::encode(std::string_view text, std::size_t offset, std::vector<TokenId>& ids) const {
  while (!text.empty()) {
    const std::size_t well_formed = run_length(text, true);
    PLM_TRY(encode_well_formed(text.substr(0, well_formed), ids));
    text.remove_prefix(well_formed);
    offset += well_formed;

    const std::size_t ill_formed = run_length(text, false);
    PLM_TRY(encode_ill_formed(text.substr(0, ill_formed), offset, ids));
    text.remove_prefix(ill_formed);
    offset += ill_formed;
  }
  return {};
}

Result<void> Bpe::encode_well_formed(std::string_view text, std::vector<TokenId>& ids) const {
  std::string normal;
  if (rules_.nfc) text = normal = to_nfc(text);
  std::vector<std::string_view> pieces;
  PLM_TRY(pre_tokenizer_.split(text, pieces));
  PieceEncoder encoder(*this, text.size());
  for (const std::string_view piece : pieces) encoder.append(piece, ids);
  return {};
}

Result<void> Bpe::encode_ill_formed(std::string_view bytes, std::size_t offset, std::vector<TokenId>& ids) const {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte_tokens_[byte] != kNoToken) continue;
    return fail(ErrorKind::usage,
                "byte 0x{:02x} at offset {} is not part of UTF-8 text and the vocabulary has no token for it; "
                "give the text in UTF-8",
                byte, offset + at);
  }
  if (!bytes.empty()) PieceEncoder(*this, bytes.size()).append(bytes, ids);
  return {};
}

}  // namespace plm
