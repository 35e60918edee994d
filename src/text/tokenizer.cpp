#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/gguf_pipeline.h"
#include "text/huggingface_vocabulary.h"
#include "text/sentencepiece_model.h"

namespace plm {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

// How many bytes at the start of `text` belong to no well-formed character.
std::size_t ill_formed_prefix(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && utf8_character_length(text.substr(length)) == 0) ++length;
  return length;
}

// What the file says is put around a text.
Surroundings surroundings_of(const Vocabulary& vocabulary) {
  Surroundings around;
  if (vocabulary.adds_bos()) around.before.push_back(*vocabulary.special(SpecialToken::bos));
  // A text has one token at its end. Files that add both mean the separator for pairs of texts, behind the first's end.
  if (vocabulary.adds_eos()) {
    around.after.push_back(*vocabulary.special(SpecialToken::eos));
  } else if (vocabulary.adds_separator()) {
    around.after.push_back(*vocabulary.special(SpecialToken::separator));
  }
  around.between = around.after;
  if (vocabulary.adds_eos() && vocabulary.adds_separator()) {
    around.between.push_back(*vocabulary.special(SpecialToken::separator));
  }
  around.second_type = vocabulary.kind().kind == TokenizerKind::word_piece;
  return around;
}

}  // namespace

// Encodes one text: what is between the added tokens goes through the pipeline.
class Tokenizer::Run {
 public:
  Run(const Tokenizer& tokenizer, std::size_t text_bytes, bool parse_special, std::vector<TokenId>& ids)
      : tokenizer_(tokenizer),
        pipeline_(*tokenizer.pipeline_),
        cache_(pipeline_.model(), text_bytes),
        parse_special_(parse_special),
        ids_(ids) {}

  // `offset`: where `text` stands in what the user gave.
  Result<void> encode(std::string_view text, std::size_t offset) {
    if (pipeline_.takes_any_bytes()) return encode_well_formed(text, offset);
    while (!text.empty()) {
      const std::size_t well_formed = utf8_valid_prefix(text);
      PLM_TRY(encode_well_formed(text.substr(0, well_formed), offset));
      text.remove_prefix(well_formed);
      offset += well_formed;

      const std::size_t ill_formed = ill_formed_prefix(text);
      PLM_TRY(encode_ill_formed(text.substr(0, ill_formed), offset));
      text.remove_prefix(ill_formed);
      offset += ill_formed;
    }
    return {};
  }

 private:
  Result<void> encode_well_formed(std::string_view text, std::size_t offset) {
    if (text.empty()) return {};
    std::string normal;
    if (pipeline_.normalizes()) {
      PLM_TRY_ASSIGN(normal, pipeline_.normalize(text));
      text = normal;
    }
    bool begins_text = offset == 0;
    std::size_t at = 0;
    while (at < text.size()) {
      const auto match = tokenizer_.in_normal_text_.find(text, at, parse_special_);
      const std::size_t end = match ? match->begin : text.size();
      if (end > at) PLM_TRY(pipeline_.encode(text.substr(at, end - at), begins_text, cache_, ids_));
      if (!match) break;
      ids_.push_back(match->id);
      at = match->end;
      begins_text = false;
    }
    return {};
  }

  Result<void> encode_ill_formed(std::string_view bytes, std::size_t offset) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      if (pipeline_.model().spells_byte(byte)) continue;
      return fail(ErrorKind::usage,
                  "byte 0x{:02x} at offset {} is not part of UTF-8 text and the vocabulary has no token for it; "
                  "give the text in UTF-8",
                  byte, offset + at);
    }
    if (!bytes.empty()) cache_.append(bytes, ids_);
    return {};
  }

  const Tokenizer& tokenizer_;
  const TextPipeline& pipeline_;
  PieceCache cache_;
  bool parse_special_;
  std::vector<TokenId>& ids_;
};

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  warnings_.assign(vocabulary_.warnings().begin(), vocabulary_.warnings().end());
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(std::shared_ptr<const GgufFile> file) {
  if (has_huggingface_tokenizer(*file)) {
    GgufWriter writer;
    std::vector<std::string> ignored;  // what other programs could not say is no matter here
    PLM_TRY_ASSIGN(const auto tokenizer, add_ggml_vocabulary(*file, writer, ignored));
    PLM_TRY_ASSIGN(auto vocabulary, vocabulary_file(writer, file->path()));
    return load_parts(tokenizer, std::move(vocabulary));
  }
  if (has_sentencepiece_tokenizer(*file)) {
    GgufWriter writer;
    PLM_TRY(add_sentencepiece_vocabulary(*file, writer));
    PLM_TRY_ASSIGN(file, vocabulary_file(writer, file->path()));
  }
  PLM_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::load(std::move(file)));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  tokenizer->in_raw_text_ = AddedTokens(added_tokens_of(tokenizer->vocabulary_));
  tokenizer->around_ = surroundings_of(tokenizer->vocabulary_);
  PLM_TRY_ASSIGN(tokenizer->pipeline_, load_gguf_pipeline(tokenizer->vocabulary_, tokenizer->warnings_));
  return tokenizer;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load_huggingface(std::string_view tokenizer_json,
                                                                     std::string_view tokenizer_config_json,
                                                                     std::string name) {
  PLM_TRY_ASSIGN(const auto tokenizer, HuggingfaceTokenizer::parse(tokenizer_json, name));
  GgufWriter writer;
  std::vector<std::string> ignored;
  const HuggingfaceTexts texts{tokenizer_json, tokenizer_config_json, {}, name};
  PLM_TRY(add_ggml_vocabulary(tokenizer, texts, 0, writer, ignored));
  PLM_TRY_ASSIGN(auto vocabulary, vocabulary_file(writer, std::move(name)));
  return load_parts(tokenizer, std::move(vocabulary));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load_parts(const HuggingfaceTokenizer& huggingface,
                                                               std::shared_ptr<const GgufFile> file) {
  PLM_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::load(std::move(file)));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  PLM_TRY_ASSIGN(tokenizer->pipeline_,
                 load_huggingface_pipeline(huggingface, tokenizer->vocabulary_, tokenizer->warnings_));
  std::vector<AddedToken> raw, normal;
  for (AddedToken token : huggingface.added) {
    if (token.is_normalized) {
      PLM_TRY_ASSIGN(token.text, tokenizer->pipeline_->normalize(token.text));
      normal.push_back(std::move(token));
    } else {
      raw.push_back(std::move(token));
    }
  }
  tokenizer->in_raw_text_ = AddedTokens(std::move(raw));
  tokenizer->in_normal_text_ = AddedTokens(std::move(normal));
  PLM_TRY_ASSIGN(tokenizer->around_, load_surroundings(huggingface));
  return tokenizer;
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const auto find = [&](std::size_t at) { return in_raw_text_.find(text, at, options.parse_special); };
  return encode_between(text, find, options);
}

namespace {

// Finds user-defined tokens anywhere in a marked text, and control tokens in the runs that the template wrote.
class MarkedFinder {
 public:
  MarkedFinder(const AddedTokens& tokens, const jinja::MarkedText& text) : tokens_(tokens), text_(text) {}

  std::optional<SpecialMatcher::Match> find(std::size_t at) {
    if (!is_known_ || (anywhere_ && anywhere_->begin < at)) anywhere_ = tokens_.find(text_.text(), at, false);
    is_known_ = true;
    const auto runs = text_.runs();
    while (run_ < runs.size() && runs[run_].end <= at) ++run_;
    for (; run_ < runs.size(); ++run_) {
      const auto& run = runs[run_];
      if (anywhere_ && anywhere_->begin < run.begin) break;
      if (run.origin != jinja::Origin::template_text) continue;
      const std::string_view up_to_its_end = std::string_view(text_.text()).substr(0, run.end);
      const auto found = tokens_.find(up_to_its_end, std::max(at, run.begin), true);
      if (found) return anywhere_ && anywhere_->begin < found->begin ? anywhere_ : found;
    }
    return anywhere_;
  }

 private:
  const AddedTokens& tokens_;
  const jinja::MarkedText& text_;
  std::size_t run_ = 0;  // earlier ones hold nothing more
  bool is_known_ = false;
  std::optional<SpecialMatcher::Match> anywhere_;  // the next user-defined token
};

}  // namespace

Result<std::vector<TokenId>> Tokenizer::encode(const jinja::MarkedText& text, const EncodeOptions& options) const {
  if (options.parse_special) return encode(text.text(), options);
  MarkedFinder finder(in_raw_text_, text);
  return encode_between(
      text.text(), [&](std::size_t at) { return finder.find(at); }, options);
}

Result<std::vector<TokenId>> Tokenizer::encode_between(std::string_view text, const Finder& find,
                                                       const EncodeOptions& options) const {
  if (pipeline_ == nullptr) {
    return fail(ErrorKind::bad_input,
                "{}: tokenizer.ggml.model is '{}': encoding with a {} tokeniser is not implemented; give token ids",
                vocabulary_.file().path(), vocabulary_.kind().name, vocabulary_.kind().title);
  }
  if (text.size() > kMaxTextBytes) {
    return fail(ErrorKind::usage, "text of {} bytes, at most {} are encoded at once", text.size(), kMaxTextBytes);
  }
  std::vector<TokenId> ids;
  if (options.add_special) ids = around_.before;
  const TokenId last_before = ids.empty() ? kNoToken : ids.back();

  Run run(*this, text.size(), options.parse_special, ids);
  std::size_t at = 0;
  while (at < text.size()) {
    const auto match = find(at);
    const std::size_t end = match ? match->begin : text.size();
    if (end > at) {
      auto encoded = run.encode(text.substr(at, end - at), at);
      if (!encoded && encoded.error().kind == ErrorKind::usage) return tl::unexpected(encoded.error());
      if (!encoded) return tl::unexpected(encoded.error().within(vocabulary_.file().path()));
    }
    if (!match) break;
    const bool repeats_bos = match->begin == 0 && match->id == last_before;
    if (!repeats_bos) ids.push_back(match->id);
    at = match->end;
  }
  if (options.add_special) ids.insert(ids.end(), around_.after.begin(), around_.after.end());
  return ids;
}

}  // namespace plm
