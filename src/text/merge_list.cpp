#include "text/merge_list.h"

#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

// Sixteen bytes at a time.
using Block = std::uint64_t __attribute__((vector_size(16)));
using Bytes = char __attribute__((vector_size(16)));
constexpr std::size_t kBlockBytes = sizeof(Block);

Block block_of(char byte) {
  const std::uint64_t word = 0x0101010101010101U * static_cast<unsigned char>(byte);
  return Block{word, word};
}

// The block that ends where `text` does. In a GGUF file its bytes are always there: each string of an array has its
// size in front of it, the first also the array's key, type and length.
Block last_bytes(std::string_view text) {
  Block block;
  std::memcpy(&block, text.data() + text.size() - kBlockBytes, kBlockBytes);
  return block;
}

// A bit for each byte: whether it is the same in both.
std::uint32_t equal_bits(Block a, Block b) {
  const Bytes ones = reinterpret_cast<Bytes>(a) == reinterpret_cast<Bytes>(b);
#if defined(__SSE2__)
  return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(ones));
#else
  const Block low = reinterpret_cast<Block>(ones) & 0x0101010101010101U;
  const auto bits = [](std::uint64_t half) { return static_cast<std::uint32_t>(half * 0x0102040810204080U >> 56); };
  return bits(low[0]) | bits(low[1]) << 8;
#endif
}

// One line of the list: a merge. Lines that fit a block, which most do, are searched and compared all bytes at once:
// no call, and no branch on where the space is.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {
    if (text.size() > kBlockBytes || text.empty()) {
      left_bytes_ = text.find(' ', 1);  // the left token may itself begin with a space
      return;
    }
    const std::size_t before = kBlockBytes - text.size();  // bytes of the block that are not the line's
    bytes_ = last_bytes(text);
    const std::uint32_t spaces = equal_bits(bytes_, block_of(' ')) >> before >> 1;
    if (spaces == 0) return;
    const auto left_bytes = static_cast<std::uint32_t>(std::countr_zero(spaces)) + 1;
    left_bytes_ = left_bytes;
    shifted_ = last_bytes(text.substr(0, text.size() - 1));
    right_bits_ = 0xFFFEU << before << left_bytes & 0xFFFFU;
    left_bits_ = ~(0xFFFFFFFFU << left_bytes) << before << 1;
  }

  [[nodiscard]] bool is_merge() const { return left_bytes_ != std::string_view::npos; }
  // Of a merge.
  [[nodiscard]] std::size_t left_bytes() const { return left_bytes_; }
  [[nodiscard]] std::string_view left() const { return text_.substr(0, left_bytes_); }
  [[nodiscard]] std::string_view right() const { return text_.substr(left_bytes_ + 1); }

  // Whether the two tokens together are `product`.
  [[nodiscard]] bool makes(std::string_view product) const {
    if (product.size() + 1 != text_.size()) return false;
    if (text_.size() > kBlockBytes) return product.starts_with(left()) && product.ends_with(right());
    const Block bytes = last_bytes(product);
    return ((~equal_bits(bytes, bytes_) & right_bits_) | (~equal_bits(bytes, shifted_) & left_bits_)) == 0;
  }

 private:
  std::string_view text_;
  std::size_t left_bytes_ = std::string_view::npos;
  // Of a line that fits a block: its last bytes, and those before its last one; which of them are the tokens'.
  Block bytes_{}, shifted_{};
  std::uint32_t right_bits_ = 0, left_bits_ = 0;
};

}  // namespace

// Reads the lines in order.
class MergeList::Builder {
 public:
  explicit Builder(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), texts_(vocabulary.texts()), types_(vocabulary.types()) {}

  // Room for `count` lines.
  Result<void> reserve(std::size_t count) {
    const std::size_t run_bytes = texts_.size() * sizeof(Run);
    PLM_TRY_ASSIGN(list_.memory_, AlignedBuffer::allocate(run_bytes + count * sizeof(std::uint16_t)));
    std::byte* memory = list_.memory_.data();
    list_.runs_ = {reinterpret_cast<Run*>(memory), texts_.size()};
    list_.left_sizes_ = {reinterpret_cast<std::uint16_t*>(memory + run_bytes), count};
    return {};
  }

  // False: it is no merge.
  bool add(std::string_view text) {
    const Line line(text);
    if (!line.is_merge()) return false;
    // Mostly it makes what the line before makes, or the next token.
    if (last_ < 0 || !line.makes(texts_[static_cast<std::size_t>(last_)])) {
      const TokenId product = find_product(line);
      if (product == kNoToken) {
        // Vocabularies of bytes alone carry one merge of control tokens, because other engines refuse an empty list.
        if (!is_control(line.left()) && useless_++ == 0) first_useless_ = text;
        ++rank_;
        return true;
      }
      last_ = product;
    }
    place(line.left_bytes());
    ++rank_;
    return true;
  }

  [[nodiscard]] std::uint32_t useless() const { return useless_; }
  [[nodiscard]] std::string_view first_useless() const { return first_useless_; }

  MergeList finish() && {
    list_.others_ = MergeTable(others_);
    return std::move(list_);
  }

 private:
  [[nodiscard]] bool is_control(std::string_view text) const {
    const auto id = vocabulary_.find(text);
    return id && vocabulary_.type(*id) == TokenType::control;
  }

  // Whether it is no control token and no token before has its text.
  [[nodiscard]] bool may_be_made(TokenId id) const {
    return types_[static_cast<std::size_t>(id)] != TokenType::control && !vocabulary_.repeats_text(id);
  }

  TokenId find_product(const Line& line) {
    const TokenId next = last_ + 1;
    if (vocabulary_.contains(next) && line.makes(texts_[static_cast<std::size_t>(next)]) && may_be_made(next)) {
      return next;
    }
    joined_.assign(line.left()).append(line.right());
    const auto id = vocabulary_.find(joined_);
    return id && may_be_made(*id) ? *id : kNoToken;
  }

  // A merge that makes the token `last_`.
  void place(std::size_t left_bytes) {
    list_.left_sizes_[rank_] = static_cast<std::uint16_t>(left_bytes);  // less than the product's kMaxTokenBytes
    Run& run = list_.runs_[static_cast<std::size_t>(last_)];
    // A row of the same merge again and again is not searched through each time.
    if (((run.end == rank_) | (run.count == 0)) & (run.count < texts_[static_cast<std::size_t>(last_)].size())) {
      run.end = rank_ + 1;
      ++run.count;
    } else {
      others_.push_back({last_, static_cast<std::uint32_t>(left_bytes), rank_});
    }
  }

  const Vocabulary& vocabulary_;
  std::span<const std::string_view> texts_;
  std::span<const TokenType> types_;
  MergeList list_;
  std::vector<MergeEntry> others_;
  TokenId last_ = kNoToken;  // what the last merge makes
  std::string joined_;
  std::string_view first_useless_;
  std::uint32_t rank_ = 0, useless_ = 0;
};

Result<MergeList> MergeList::load(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  static_assert(Vocabulary::kMaxTokenBytes <= std::numeric_limits<std::uint16_t>::max());
  const std::string& path = vocabulary.file().path();
  PLM_TRY_ASSIGN(const StringArray lines, vocabulary.file().string_array(kMergesKey));
  if (lines.size() >= Merge::kNoRank) {
    return fail(ErrorKind::bad_input, "{}: {}: {} merges, expected fewer than 2^32", path, kMergesKey, lines.size());
  }
  Builder builder(vocabulary);
  PLM_TRY(builder.reserve(lines.size()));
  std::size_t number = 0;
  for (const std::string_view line : lines) {
    if (!builder.add(line)) {
      return fail(ErrorKind::bad_input, "{}: {}: merge {} is '{}', expected two tokens with a space between", path,
                  kMergesKey, number, printable(line));
    }
    ++number;
  }
  if (builder.useless() > 0) {
    warnings.push_back(fmt::format("{}: {}: {} of {} merges make what is no token, the first is '{}'", path, kMergesKey,
                                   builder.useless(), lines.size(), printable(builder.first_useless())));
  }
  return std::move(builder).finish();
}

std::uint32_t MergeList::rank(TokenId product, std::size_t left_bytes) const {
  if (runs_.empty()) return Merge::kNoRank;
  const Run run = runs_[static_cast<std::size_t>(product)];
  for (std::uint32_t rank = run.end - run.count; rank < run.end; ++rank) {
    if (left_sizes_[rank] == left_bytes) return rank;
  }
  return others_.rank(product, static_cast<std::uint32_t>(left_bytes), Merge::kNoRank);
}

}  // namespace plm
