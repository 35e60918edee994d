#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "text/pre_tokenizer.h"

namespace plm {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";

using Kind = TokenizerKind;
constexpr TokenizerKindRow kKinds[] = {
    {.name = "gpt2", .kind = Kind::byte_bpe, .title = "byte-level BPE", .spelling = Spelling::byte_alphabet},
    {.name = "llama",
     .kind = Kind::sentencepiece_bpe,
     .title = "SentencePiece BPE",
     .spelling = Spelling::space_marks,
     .add_bos = true,
     .add_space_prefix = true},
    {.name = "gemma4",
     .kind = Kind::ranked_sentencepiece_bpe,
     .title = "SentencePiece BPE with merges",
     .spelling = Spelling::space_marks,
     .add_bos = true},
    {.name = "t5",
     .kind = Kind::unigram,
     .title = "SentencePiece Unigram",
     .spelling = Spelling::space_marks,
     .add_eos = true,
     .add_space_prefix = true},
    {.name = "bert",
     .kind = Kind::word_piece,
     .title = "WordPiece",
     .spelling = Spelling::space_marks,
     .add_bos = true,
     .add_separator = true,
     .add_space_prefix = true},
    {.name = "rwkv", .kind = Kind::rwkv, .title = "RWKV", .spelling = Spelling::plain},
    {.name = "plamo2", .kind = Kind::plamo2, .title = "PLaMo-2", .spelling = Spelling::space_marks},
};

const TokenizerKindRow* find_kind(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return kind.name == name; });
  return row == std::end(kKinds) ? nullptr : row;
}

// Names of pre-tokenisers whose files say "gpt2", while their tokens are spelled with marks for spaces.
constexpr std::string_view kSpaceMarkPreTokenizers[] = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"};

std::string kind_names() {
  std::string names;
  for (const TokenizerKindRow& row : kKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

// Counts the tokens with one oddity and remembers the first, so that a file full of them makes one warning.
struct Oddity {
  std::size_t count = 0, first = 0;
  void found(std::size_t token) {
    if (count++ == 0) first = token;
  }
  [[nodiscard]] std::string where() const {
    return count == 1 ? fmt::format("token {}", first) : fmt::format("token {} and {} more", first, count - 1);
  }
};

// Finds the texts that are not UTF-8. `texts` lie in the file one behind the other, each behind its size in eight
// bytes, which are ASCII characters while the size is. So where several texts with all that is between them are valid,
// each is.
void find_broken_texts(std::span<const std::string_view> texts, Oddity& broken) {
  constexpr std::size_t kBlock = 256, kAsciiSizes = 128;
  for (std::size_t begin = 0; begin < texts.size(); begin += kBlock) {
    const auto block = texts.subspan(begin, std::min(kBlock, texts.size() - begin));
    const char* first = block.front().data();
    const char* end = block.back().data() + block.back().size();
    std::size_t sizes = 0;
    for (const std::string_view text : block) sizes |= text.size();
    if (sizes < kAsciiSizes && utf8_is_valid({first, static_cast<std::size_t>(end - first)})) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (!utf8_is_valid(block[i])) broken.found(begin + i);
    }
  }
}

}  // namespace

template <typename... Args>
void Vocabulary::warn(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
  warnings_.push_back(fmt::format("{}: {}: {}", file_->path(), key, fmt::format(format, std::forward<Args>(args)...)));
}

Result<Vocabulary> Vocabulary::load(std::shared_ptr<const GgufFile> file) {
  Vocabulary vocabulary;
  vocabulary.file_ = std::move(file);
  PLM_TRY_ASSIGN(const std::string_view model, vocabulary.file_->string_value("tokenizer.ggml.model"));
  vocabulary.kind_ = find_kind(model);
  if (vocabulary.kind_ == nullptr) {
    return fail(ErrorKind::bad_input, "{}: tokenizer.ggml.model is '{}', an unknown tokeniser; known are {}",
                vocabulary.file_->path(), printable(model), kind_names());
  }
  const auto pre_tokenizer = vocabulary.file_->optional_string("tokenizer.ggml.pre");
  if (vocabulary.kind_->kind == Kind::byte_bpe && pre_tokenizer && *pre_tokenizer &&
      std::ranges::count(kSpaceMarkPreTokenizers, **pre_tokenizer) > 0) {
    vocabulary.kind_ = find_kind("gemma4");
  }
  PLM_TRY(vocabulary.load_texts());
  // The longest work, beside what does not need it.
  auto index = std::async([&] { return TextIndex::build(vocabulary.texts_); });
  vocabulary.check_texts();
  PLM_TRY(vocabulary.load_types());
  PLM_TRY(vocabulary.load_scores());
  PLM_TRY(vocabulary.check_byte_tokens());
  PLM_TRY_ASSIGN(vocabulary.index_, index.get());
  if (const auto duplicates = vocabulary.index_.duplicates(); !duplicates.empty()) {
    const Oddity repeated{.count = duplicates.size(), .first = duplicates[0]};
    vocabulary.warn(kTokensKey, "{}: same text as a token before, whose lower id stands for it", repeated.where());
  }
  PLM_TRY_ASSIGN(vocabulary.special_, SpecialTokens::load(*vocabulary.file_, vocabulary.index_, vocabulary.types_));
  PLM_TRY(vocabulary.load_rules());
  return vocabulary;
}

Result<void> Vocabulary::load_texts() {
  PLM_TRY_ASSIGN(const StringArray texts, file_->string_array(kTokensKey));
  if (texts.empty()) {
    return fail(ErrorKind::bad_input, "{}: {} is empty; a vocabulary has at least one token", file_->path(),
                kTokensKey);
  }
  if (texts.size() > std::numeric_limits<TokenId>::max()) {
    return fail(ErrorKind::bad_input, "{}: {} has {} tokens, more than ids of 31 bits", file_->path(), kTokensKey,
                texts.size());
  }
  PLM_TRY_ASSIGN(texts_memory_, AlignedBuffer::allocate(texts.size() * sizeof(std::string_view)));
  auto* views = reinterpret_cast<std::string_view*>(texts_memory_.data());
  texts_ = {views, texts.size()};
  std::size_t id = 0;
  for (const std::string_view text : texts) {
    views[id] = text;
    if (text.size() > kMaxTokenBytes) {
      return fail(ErrorKind::bad_input, "{}: {}: token {} has {} bytes, expected at most {}; the file is damaged",
                  file_->path(), kTokensKey, id, text.size(), kMaxTokenBytes);
    }
    longest_text_ = std::max(longest_text_, text.size());
    ++id;
  }
  return {};
}

void Vocabulary::check_texts() {
  Oddity empty, broken;
  for (std::size_t id = 0; id < size(); ++id) {
    if (texts_[id].empty()) empty.found(id);
  }
  find_broken_texts(texts_, broken);
  if (empty.count > 0) warn(kTokensKey, "{}: empty text", empty.where());
  if (broken.count > 0) warn(kTokensKey, "{}: text is not UTF-8", broken.where());
}

Result<void> Vocabulary::load_types() {
  types_.assign(size(), TokenType::normal);
  const MetaValue* value = file_->find(kTypesKey);
  if (value == nullptr) return {};
  if (!value->is_array() || (value->element_type() != GgufType::i32 && value->element_type() != GgufType::u32)) {
    return fail(ErrorKind::bad_input, "{}: {} is {}, expected an array of i32", file_->path(), kTypesKey,
                value->described());
  }
  if (value->count() != size()) {
    return fail(ErrorKind::bad_input, "{}: {} has {} types for {} tokens; the file is damaged", file_->path(),
                kTypesKey, value->count(), size());
  }
  const auto type_at = [bytes = value->bytes()](std::size_t id) {
    std::int32_t type = 0;
    std::memcpy(&type, bytes.data() + id * sizeof type, sizeof type);
    return type;
  };
  Oddity unknown;
  for (std::size_t id = 0; id < size(); ++id) {
    const std::int32_t type = type_at(id);
    if (type >= 1 && type <= 6) {
      types_[id] = static_cast<TokenType>(type);
    } else {
      unknown.found(id);
    }
  }
  if (unknown.count > 0) {
    warn(kTypesKey, "{}: unknown type {}, taken as normal", unknown.where(), type_at(unknown.first));
  }
  return {};
}

Result<void> Vocabulary::load_scores() {
  PLM_TRY_ASSIGN(auto scores, file_->optional_f32_array(kScoresKey));
  if (!scores) return {};
  if (scores->size() != size()) {
    return fail(ErrorKind::bad_input, "{}: {} has {} scores for {} tokens; the file is damaged", file_->path(),
                kScoresKey, scores->size(), size());
  }
  const auto bad = std::find_if(scores->begin(), scores->end(), [](float score) { return std::isnan(score); });
  if (bad != scores->end()) {
    return fail(ErrorKind::bad_input, "{}: {}: the score of token {} is not a number; convert the model again",
                file_->path(), kScoresKey, bad - scores->begin());
  }
  scores_ = *std::move(scores);
  return {};
}

Result<void> Vocabulary::check_byte_tokens() const {
  for (std::size_t id = 0; id < size(); ++id) {
    if (types_[id] == TokenType::byte && !byte_of_hex_token(texts_[id])) {
      return fail(ErrorKind::bad_input,
                  "{}: {}: token {} is a byte but reads '{}', expected <0xNN> with two hexadecimal digits",
                  file_->path(), kTokensKey, id, printable(texts_[id]));
    }
  }
  return {};
}

// What is put around a text, the pre-tokeniser's name and the chat template.
Result<void> Vocabulary::load_rules() {
  PLM_TRY_ASSIGN(const auto pre_tokenizer, file_->optional_string("tokenizer.ggml.pre"));
  pre_tokenizer_name_ = pre_tokenizer.value_or("default");
  const bool is_byte_bpe = kind_->kind == TokenizerKind::byte_bpe;
  if (is_byte_bpe && !pre_tokenizer) {
    warn("tokenizer.ggml.pre", "missing, 'default' is assumed, which few models mean; convert the model again");
  }
  const PreTokenizerRow* row = is_byte_bpe ? find_pre_tokenizer(pre_tokenizer_name_) : nullptr;

  PLM_TRY_ASSIGN(const auto add_bos, file_->optional_boolean("tokenizer.ggml.add_bos_token"));
  PLM_TRY_ASSIGN(const auto add_eos, file_->optional_boolean("tokenizer.ggml.add_eos_token"));
  PLM_TRY_ASSIGN(const auto add_separator, file_->optional_boolean("tokenizer.ggml.add_sep_token"));
  PLM_TRY_ASSIGN(const auto add_space, file_->optional_boolean("tokenizer.ggml.add_space_prefix"));
  adds_bos_ = add_bos.value_or(kind_->add_bos || (row != nullptr && row->add_bos));
  adds_eos_ = add_eos.value_or(kind_->add_eos);
  adds_separator_ = add_separator.value_or(kind_->add_separator);
  // Some byte-level files carry this key as well, and nobody follows it.
  adds_space_prefix_ = kind_->spelling == Spelling::space_marks && add_space.value_or(kind_->add_space_prefix);

  const auto without_token = [&](bool& adds, SpecialToken purpose, std::string_view name) {
    if (!adds || special(purpose)) return;
    adds = false;
    warn(fmt::format("tokenizer.ggml.add_{}_token", name), "true, but the file names no {} token; none is added", name);
  };
  without_token(adds_bos_, SpecialToken::bos, "bos");
  without_token(adds_eos_, SpecialToken::eos, "eos");
  without_token(adds_separator_, SpecialToken::separator, "sep");

  PLM_TRY_ASSIGN(const auto chat_template, file_->optional_string("tokenizer.chat_template"));
  chat_template_ = chat_template.value_or("");
  if (chat_template && chat_template->empty()) warn("tokenizer.chat_template", "empty, as if there were none");
  return {};
}

std::string_view Vocabulary::text(TokenId id) const {
  PLM_CHECK(contains(id));
  return texts_[static_cast<std::size_t>(id)];
}

TokenType Vocabulary::type(TokenId id) const {
  PLM_CHECK(contains(id));
  return types_[static_cast<std::size_t>(id)];
}

float Vocabulary::score(TokenId id) const {
  PLM_CHECK(contains(id));
  return scores_.empty() ? 0.0F : scores_[static_cast<std::size_t>(id)];
}

void Vocabulary::append_bytes(TokenId id, std::string& out) const {
  switch (type(id)) {
    case TokenType::normal: append_spelled_bytes(kind_->spelling, text(id), out); return;
    case TokenType::user_defined: out.append(text(id)); return;
    case TokenType::byte: out.push_back(static_cast<char>(*byte_of_hex_token(text(id)))); return;
    case TokenType::control:
    case TokenType::unknown:
    case TokenType::unused: return;
  }
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const auto number = text.size() > longest_text_ ? std::nullopt : index_.find(text);
  if (!number) return std::nullopt;
  return static_cast<TokenId>(*number);
}

bool Vocabulary::repeats_text(TokenId id) const {
  const auto repeated = index_.duplicates();
  return std::binary_search(repeated.begin(), repeated.end(), static_cast<std::uint32_t>(id));
}

bool Vocabulary::ends_generation(TokenId id) const {
  const auto ending = end_of_generation();
  return std::binary_search(ending.begin(), ending.end(), id);
}

}  // namespace plm
