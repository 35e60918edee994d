#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/bpe.h"

namespace plm {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

// The encoder of the vocabulary's kind; null when it is not written yet.
Result<std::unique_ptr<TextEncoder>> load_encoder(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
  switch (vocabulary.kind().kind) {
    case TokenizerKind::byte_bpe: return Bpe::load(vocabulary, warnings);
    default: return nullptr;
  }
}

// Whether the token's text becomes the token when special tokens are parsed.
bool is_special(const Vocabulary& vocabulary, TokenId id) {
  const TokenType type = vocabulary.type(id);
  if (type == TokenType::control || type == TokenType::unknown) return true;
  // Files made by llama.cpp's converter give some end markers the type of ordinary text, and llama.cpp takes them for
  // special all the same.
  return vocabulary.ends_generation(id) ||
         (vocabulary.kind().kind == TokenizerKind::byte_bpe && vocabulary.text(id) == "</s>");
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  std::vector<SpecialMatcher::Entry> user_defined, all;
  for (TokenId id = 0; vocabulary_.contains(id); ++id) {
    const SpecialMatcher::Entry entry{vocabulary_.text(id), id};
    const bool is_user_defined = vocabulary_.type(id) == TokenType::user_defined;
    if (is_user_defined) user_defined.push_back(entry);
    if (is_user_defined || is_special(vocabulary_, id)) all.push_back(entry);
  }
  always_whole_ = SpecialMatcher(std::move(user_defined));
  all_special_ = SpecialMatcher(std::move(all));
  warnings_.assign(vocabulary_.warnings().begin(), vocabulary_.warnings().end());
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(std::shared_ptr<const GgufFile> file) {
  PLM_TRY_ASSIGN(Vocabulary vocabulary, Vocabulary::load(std::move(file)));
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  PLM_TRY_ASSIGN(tokenizer->encoder_, load_encoder(tokenizer->vocabulary_, tokenizer->warnings_));
  return tokenizer;
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const SpecialMatcher& matcher = options.parse_special ? all_special_ : always_whole_;
  return encode_between(text, [&](std::size_t at) { return matcher.find(text, at); }, options.add_special);
}

namespace {

// Finds user-defined tokens anywhere in a marked text and control tokens in the runs that the template wrote.
class MarkedFinder {
 public:
  MarkedFinder(const jinja::MarkedText& text, const SpecialMatcher& anywhere, const SpecialMatcher& in_template)
      : text_(text), anywhere_(anywhere), in_template_(in_template) {}

  std::optional<SpecialMatcher::Match> find(std::size_t at) {
    if (!is_known_ || (whole_ && whole_->begin < at)) whole_ = anywhere_.find(text_.text(), at);
    is_known_ = true;
    const auto runs = text_.runs();
    while (run_ < runs.size() && runs[run_].end <= at) ++run_;
    for (; run_ < runs.size(); ++run_) {
      const auto& run = runs[run_];
      if (whole_ && whole_->begin < run.begin) break;
      if (run.origin != jinja::Origin::template_text) continue;
      const auto found =
          in_template_.find(std::string_view(text_.text()).substr(0, run.end), std::max(at, run.begin));
      if (found) return whole_ && whole_->begin < found->begin ? whole_ : found;
    }
    return whole_;
  }

 private:
  const jinja::MarkedText& text_;
  const SpecialMatcher& anywhere_;
  const SpecialMatcher& in_template_;
  std::size_t run_ = 0;  // earlier ones hold nothing more
  bool is_known_ = false;
  std::optional<SpecialMatcher::Match> whole_;  // the next that may stand anywhere
};

}  // namespace

Result<std::vector<TokenId>> Tokenizer::encode(const jinja::MarkedText& text, const EncodeOptions& options) const {
  if (options.parse_special) return encode(text.text(), options);
  MarkedFinder finder(text, always_whole_, all_special_);
  return encode_between(text.text(), [&](std::size_t at) { return finder.find(at); }, options.add_special);
}

Result<std::vector<TokenId>> Tokenizer::encode_between(std::string_view text, const Finder& find,
                                                       bool add_special) const {
  if (encoder_ == nullptr) {
    return fail(ErrorKind::bad_input,
                "{}: tokenizer.ggml.model is '{}': encoding with a {} tokeniser is not implemented; give token ids",
                vocabulary_.file().path(), vocabulary_.kind().name, vocabulary_.kind().title);
  }
  if (text.size() > kMaxTextBytes) {
    return fail(ErrorKind::usage, "text of {} bytes, at most {} are encoded at once", text.size(), kMaxTextBytes);
  }
  std::vector<TokenId> ids;
  const auto bos = vocabulary_.special(SpecialToken::bos);
  const bool adds_bos = add_special && vocabulary_.adds_bos();
  if (adds_bos) ids.push_back(*bos);

  std::size_t at = 0;
  while (at < text.size()) {
    const auto match = find(at);
    const std::size_t end = match ? match->begin : text.size();
    if (end > at) PLM_TRY(encoder_->encode(text.substr(at, end - at), at, ids));
    if (!match) break;
    const bool repeats_bos = adds_bos && match->begin == 0 && match->id == *bos;
    if (!repeats_bos) ids.push_back(match->id);
    at = match->end;
  }
  if (add_special && vocabulary_.adds_eos()) ids.push_back(*vocabulary_.special(SpecialToken::eos));
  if (add_special && vocabulary_.adds_separator()) ids.push_back(*vocabulary_.special(SpecialToken::separator));
  return ids;
}

}  // namespace plm
