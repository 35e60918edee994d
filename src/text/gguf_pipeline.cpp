#include "text/gguf_pipeline.h"

#include <utility>

#include "base/utf8.h"
#include "text/bpe.h"
#include "text/token_spelling.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace plm {
namespace {

constexpr std::string_view kCharsmapKey = "tokenizer.ggml.precompiled_charsmap";

Result<PreTokenizer> compile(const PreTokenizerRow& row, const Vocabulary& vocabulary) {
  auto pre_tokenizer = PreTokenizer::compile(row.expressions);
  if (!pre_tokenizer) return tl::unexpected(pre_tokenizer.error().within(vocabulary.file().path()));
  return pre_tokenizer;
}

Result<TextPipeline::Parts> byte_bpe_parts(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  const std::string_view name = vocabulary.pre_tokenizer_name();
  const PreTokenizerRow* row = find_pre_tokenizer(name);
  if (row == nullptr) {
    return fail(ErrorKind::bad_input, "{}: tokenizer.ggml.pre is '{}', an unknown pre-tokeniser; known are {}",
                vocabulary.file().path(), printable(name), pre_tokenizer_names());
  }
  TextPipeline::Parts parts;
  if (row->nfc) parts.normalizer.add(unicode_form_step(UnicodeForm::nfc));
  PLM_TRY_ASSIGN(parts.pre_tokenizer, compile(*row, vocabulary));
  PLM_TRY_ASSIGN(parts.model, Bpe::load(vocabulary, {.whole_pieces = row->whole_pieces}, warnings));
  return parts;
}

// The character map of a SentencePiece model, where the file has one.
Result<void> add_charsmap_step(const GgufFile& file, TextPipeline::Parts& parts) {
  if (file.find(kCharsmapKey) == nullptr) return {};
  PLM_TRY_ASSIGN(const auto values, file.integer_array(kCharsmapKey));
  std::string bytes;
  bytes.reserve(values.size());
  for (const std::int64_t value : values) bytes.push_back(static_cast<char>(value));
  auto map = Charsmap::parse(std::move(bytes));
  if (!map) return tl::unexpected(map.error().within(fmt::format("{}: {}", file.path(), kCharsmapKey)));
  parts.normalizer.add(charsmap_step(std::make_shared<const Charsmap>(*std::move(map)), false));
  parts.takes_any_bytes = false;
  return {};
}

// SentencePiece BPE, by the scores of the tokens or by a list of merges. Without a character map it works on any bytes.
Result<TextPipeline::Parts> sentencepiece_bpe_parts(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  TextPipeline::Parts parts;
  parts.takes_any_bytes = true;
  PLM_TRY(add_charsmap_step(vocabulary.file(), parts));
  PLM_TRY_ASSIGN(const auto merges_spaces,
                 vocabulary.file().optional_boolean("tokenizer.ggml.remove_extra_whitespaces"));
  if (merges_spaces.value_or(false)) {
    parts.normalizer.add(space_marks_step({.prepends = vocabulary.adds_space_prefix(), .merges = true}));
  } else {
    parts.normalizer.add(replace_text_step(" ", std::string(kSpaceMark)));
    if (vocabulary.adds_space_prefix()) parts.normalizer.add(prepend_text_step(std::string(kSpaceMark)));
  }
  const bool is_ranked = vocabulary.kind().kind == TokenizerKind::ranked_sentencepiece_bpe;
  if (is_ranked) {
    PLM_TRY_ASSIGN(parts.pre_tokenizer, compile(*find_pre_tokenizer("gemma4"), vocabulary));
  }
  const BpeRules rules{.starts_as_characters = true,
                       .ranks_by_score = !is_ranked,
                       .byte_fallback = true,
                       .unknown = vocabulary.special(SpecialToken::unknown)};
  PLM_TRY_ASSIGN(parts.model, Bpe::load(vocabulary, rules, warnings));
  return parts;
}

Result<TextPipeline::Parts> unigram_parts(const Vocabulary& vocabulary) {
  const GgufFile& file = vocabulary.file();
  TextPipeline::Parts parts;
  PLM_TRY(add_charsmap_step(file, parts));
  PLM_TRY_ASSIGN(const auto merges_spaces, file.optional_boolean("tokenizer.ggml.remove_extra_whitespaces"));
  parts.normalizer.add(
      space_marks_step({.prepends = vocabulary.adds_space_prefix(), .merges = merges_spaces.value_or(false)}));
  const UnigramRules rules{.byte_fallback = true, .unknown = vocabulary.special(SpecialToken::unknown)};
  parts.model = std::make_unique<Unigram>(vocabulary, rules);
  return parts;
}

Result<TextPipeline::Parts> word_piece_parts(const Vocabulary& vocabulary) {
  const GgufFile& file = vocabulary.file();
  PLM_TRY_ASSIGN(const auto lower_case, file.optional_boolean("tokenizer.ggml.normalizer.lowercase"));
  PLM_TRY_ASSIGN(const auto strips_accents, file.optional_boolean("tokenizer.ggml.normalizer.strip_accents"));
  TextPipeline::Parts parts;
  parts.normalizer.add(bert_step(
      {.strips_accents = strips_accents.value_or(lower_case.value_or(true)), .lower_case = lower_case.value_or(true)}));
  add_bert_steps(parts.pre_tokenizer);
  parts.model =
      std::make_unique<WordPiece>(vocabulary, WordPieceRules{.unknown = vocabulary.special(SpecialToken::unknown)});
  return parts;
}

Result<TextPipeline::Parts> parts_of(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  switch (vocabulary.kind().kind) {
    case TokenizerKind::byte_bpe: return byte_bpe_parts(vocabulary, warnings);
    case TokenizerKind::sentencepiece_bpe:
    case TokenizerKind::ranked_sentencepiece_bpe: return sentencepiece_bpe_parts(vocabulary, warnings);
    case TokenizerKind::unigram: return unigram_parts(vocabulary);
    case TokenizerKind::word_piece: return word_piece_parts(vocabulary);
    case TokenizerKind::rwkv:
    case TokenizerKind::plamo2: break;
  }
  return TextPipeline::Parts();
}

}  // namespace

Result<std::unique_ptr<const TextPipeline>> load_gguf_pipeline(const Vocabulary& vocabulary,
                                                               std::vector<std::string>& warnings) {
  PLM_TRY_ASSIGN(TextPipeline::Parts parts, parts_of(vocabulary, warnings));
  if (parts.model == nullptr) return nullptr;
  return std::make_unique<const TextPipeline>(std::move(parts));
}

}  // namespace plm
