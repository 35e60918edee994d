#include "text/added_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "text/unicode_class.h"

namespace plm {
namespace {

// The character that ends before `end`; 0 bytes where there is none.
Character last_character(std::string_view text, std::size_t end) {
  for (std::size_t bytes = 1; bytes <= 4 && bytes <= end; ++bytes) {
    if (utf8_character_length(text.substr(end - bytes, bytes)) == bytes) return character_at(text, end - bytes);
  }
  return {};
}

Character next_character(std::string_view text, std::size_t at) {
  return utf8_character_length(text.substr(at)) == 0 ? Character() : character_at(text, at);
}

bool is_word(const Character& character) { return character.bytes > 0 && is_word_character(character.code); }
bool is_space(const Character& character) { return character.bytes > 0 && is_white_space(character.code); }

// Files made by llama.cpp's converter give some end markers the type of ordinary text or of user-defined tokens, and
// llama.cpp takes them for special all the same.
constexpr std::string_view kEndMarker = "</s>";

// Control and user-defined tokens and such markers, ascending.
std::vector<TokenId> candidates(const Vocabulary& vocabulary) {
  const auto ending = vocabulary.end_of_generation();
  std::vector<TokenId> ids(ending.begin(), ending.end());
  const auto marker = vocabulary.find(kEndMarker);
  if (marker && vocabulary.kind().kind == TokenizerKind::byte_bpe) ids.push_back(*marker);
  const auto types = vocabulary.types();
  for (std::size_t id = 0; id < types.size(); ++id) {
    if (types[id] == TokenType::control || types[id] == TokenType::unknown || types[id] == TokenType::user_defined) {
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Whether the text of a candidate becomes the token only when special tokens are parsed.
bool is_special(const Vocabulary& vocabulary, TokenId id) {
  const TokenType type = vocabulary.type(id);
  return type == TokenType::control || type == TokenType::unknown || vocabulary.ends_generation(id) ||
         vocabulary.text(id) == kEndMarker;
}

std::string with_space_marks(std::string_view text) {
  std::string marked;
  for (const char c : text) {
    if (c == ' ') {
      marked += kSpaceMark;
    } else {
      marked.push_back(c);
    }
  }
  return marked;
}

std::string lower_case_name(const Vocabulary& vocabulary, std::string_view key) {
  const auto value = vocabulary.file().optional_string(key);
  std::string name(value.has_value() ? value->value_or("") : "");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return name;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  // Of equal texts the one with the lowest id is found.
  std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::vector<SpecialMatcher::Entry> always, all;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const SpecialMatcher::Entry entry{tokens_[i].text, static_cast<TokenId>(i)};
    if (!tokens_[i].is_control) always.push_back(entry);
    all.push_back(entry);
  }
  always_ = SpecialMatcher(std::move(always));
  all_ = SpecialMatcher(std::move(all));
}

std::optional<SpecialMatcher::Match> AddedTokens::find(std::string_view text, std::size_t from,
                                                       bool parse_special) const {
  if (tokens_.empty()) return std::nullopt;
  const SpecialMatcher& matcher = parse_special ? all_ : always_;
  std::size_t search_from = from;
  while (auto match = matcher.find(text, search_from)) {
    search_from = match->end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(match->id)];
    if (token.single_word &&
        (is_word(last_character(text, match->begin)) || is_word(next_character(text, match->end)))) {
      continue;
    }
    match->id = token.id;
    while (token.strips_left && match->begin > from) {
      const Character before = last_character(text, match->begin);
      if (!is_space(before) || match->begin - from < before.bytes) break;
      match->begin -= before.bytes;
    }
    while (token.strips_right && match->end < text.size()) {
      const Character after = next_character(text, match->end);
      if (!is_space(after)) break;
      match->end += after.bytes;
    }
    return match;
  }
  return std::nullopt;
}

std::vector<AddedToken> added_tokens_of(const Vocabulary& vocabulary) {
  const std::string name = lower_case_name(vocabulary, "general.name");
  const bool is_phi3 = name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos;
  constexpr std::array<std::string_view, 3> kPhi3KeepsSpace = {"<unk>", "<s>", "<|endoftext|>"};
  // The masks of XLM-RoBERTa, RoBERTa and ModernBERT take the space before them.
  const std::string_view pre = vocabulary.pre_tokenizer_name();
  const bool mask_strips = vocabulary.kind().kind == TokenizerKind::unigram || pre == "modern-bert" ||
                           pre.starts_with("jina-v2-") || pre == "roberta-bpe";

  std::vector<AddedToken> tokens;
  for (const TokenId id : candidates(vocabulary)) {
    const bool special = is_special(vocabulary, id);
    AddedToken token{.text = std::string(vocabulary.text(id)), .id = id, .is_control = special};
    const bool keeps_space =
        std::find(kPhi3KeepsSpace.begin(), kPhi3KeepsSpace.end(), token.text) != kPhi3KeepsSpace.end();
    token.strips_right = is_phi3 && !keeps_space;
    token.strips_left = mask_strips && vocabulary.special(SpecialToken::mask) == id;
    if (!special && vocabulary.kind().spelling == Spelling::space_marks) {
      // The converter writes spaces for the marks of such tokens; in their makers' vocabulary they are marks.
      AddedToken marked = token;
      marked.text = with_space_marks(token.text);
      if (marked.text != token.text) tokens.push_back(std::move(marked));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace plm
