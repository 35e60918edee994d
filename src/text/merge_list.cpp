#include "text/merge_list.h"

#include <cstring>
#include <limits>
#include <span>

#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

__extension__ using Bytes16 = unsigned __int128;

// The 16 bytes that end where `text` does. In a GGUF file there are always as many: each string of an array has its
// size in front of it, the first also the array's key, type and length.
Bytes16 last_bytes(std::string_view text) {
  Bytes16 bytes;
  std::memcpy(&bytes, text.data() + text.size() - sizeof bytes, sizeof bytes);
  return bytes;
}

// Whether `line` without the space at `left_bytes` is `text`. Short texts, which most are, are compared as numbers: to
// choose by their sizes would cost more, as no processor can foresee them.
bool is_joined(std::string_view text, std::string_view line, std::size_t left_bytes) {
  if (line.size() != text.size() + 1) return false;
  if (text.size() < sizeof(Bytes16) && left_bytes < text.size()) {
    const auto low = [](std::size_t count) { return (Bytes16{1} << (8 * count)) - 1; };
    const std::size_t begin = sizeof(Bytes16) - text.size(), cut = begin + left_bytes;
    const Bytes16 expected = last_bytes(text);
    const Bytes16 left = last_bytes(line.substr(0, text.size())) ^ expected, right = last_bytes(line) ^ expected;
    return (left & (low(cut) ^ low(begin))) == 0 && right >> (8 * cut) == 0;
  }
  return text.substr(0, left_bytes) == line.substr(0, left_bytes) &&
         text.substr(left_bytes) == line.substr(left_bytes + 1);
}

}  // namespace

// Reads the lines in order.
class MergeList::Builder {
 public:
  Builder(const Vocabulary& vocabulary, std::size_t count)
      : vocabulary_(vocabulary), texts_(vocabulary.texts()), types_(vocabulary.types()) {
    list_.runs_.resize(texts_.size());
    list_.left_sizes_.resize(count);
  }

  // False: it is no merge. A token may itself begin with a space.
  bool add(std::string_view line) {
    const std::size_t left_bytes = line.find(' ', 1);
    if (left_bytes == std::string_view::npos) return false;
    // Mostly it makes what the line before makes, or the next token.
    if (last_ < 0 || !is_joined(texts_[static_cast<std::size_t>(last_)], line, left_bytes)) {
      const TokenId product = find_product(line, left_bytes);
      if (product == kNoToken || types_[static_cast<std::size_t>(product)] == TokenType::control) {
        // Vocabularies of bytes alone carry one merge of control tokens, because other engines refuse an empty list.
        if (!is_control(line.substr(0, left_bytes)) && useless_++ == 0) first_useless_ = line;
        ++rank_;
        return true;
      }
      last_ = product;
    }
    place(left_bytes);
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

  TokenId find_product(std::string_view line, std::size_t left_bytes) {
    const TokenId next = last_ + 1;
    if (vocabulary_.contains(next) && is_joined(texts_[static_cast<std::size_t>(next)], line, left_bytes) &&
        !vocabulary_.repeats_text(next)) {
      return next;
    }
    joined_.assign(line.substr(0, left_bytes)).append(line.substr(left_bytes + 1));
    return vocabulary_.find(joined_).value_or(kNoToken);
  }

  // A merge that makes the token `last_`.
  void place(std::size_t left_bytes) {
    list_.left_sizes_[rank_] = static_cast<std::uint16_t>(left_bytes);  // less than the product's kMaxTokenBytes
    Run& run = list_.runs_[static_cast<std::size_t>(last_)];
    if (run.count == 0) run.first = rank_;
    // A row of the same merge again and again is not searched through each time.
    if (run.first + run.count == rank_ && run.count < texts_[static_cast<std::size_t>(last_)].size()) {
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
  Builder builder(vocabulary, lines.size());
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
  for (std::uint32_t rank = run.first; rank < run.first + run.count; ++rank) {
    if (left_sizes_[rank] == left_bytes) return rank;
  }
  return others_.rank(product, static_cast<std::uint32_t>(left_bytes), Merge::kNoRank);
}

}  // namespace plm
