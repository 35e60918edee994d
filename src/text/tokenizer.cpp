#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/gguf_pipeline.h"

namespace plm {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

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
      const std::size_t well_formed = run_length(text, true);
      PLM_TRY(encode_well_formed(text.substr(0, well_formed), offset));
      text.remove_prefix(well_formed);
      offset += well_formed;

      const std::size_t ill_formed = run_length(text, false);
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
  PLM_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::load(std::move(file)));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  tokenizer->in_raw_text_ = AddedTokens(added_tokens_of(tokenizer->vocabulary_));
  PLM_TRY_ASSIGN(tokenizer->pipeline_, load_gguf_pipeline(tokenizer->vocabulary_, tokenizer->warnings_));
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
  return encode_between(text.text(), [&](std::size_t at) { return finder.find(at); }, options);
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
  const auto bos = vocabulary_.special(SpecialToken::bos);
  const bool adds_bos = options.add_special && vocabulary_.adds_bos();
  if (adds_bos) ids.push_back(*bos);

  Run run(*this, text.size(), options.parse_special, ids);
  std::size_t at = 0;
  while (at < text.size()) {
    const auto match = find(at);
    const std::size_t end = match ? match->begin : text.size();
    if (end > at) PLM_TRY(run.encode(text.substr(at, end - at), at));
    if (!match) break;
    const bool repeats_bos = adds_bos && match->begin == 0 && match->id == *bos;
    if (!repeats_bos) ids.push_back(match->id);
    at = match->end;
  }
  if (options.add_special && vocabulary_.adds_eos()) ids.push_back(*vocabulary_.special(SpecialToken::eos));
  if (options.add_special && vocabulary_.adds_separator()) ids.push_back(*vocabulary_.special(SpecialToken::separator));
  return ids;
}

}  // namespace plm
