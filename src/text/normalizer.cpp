#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include "text/token_spelling.h"
#include "text/unicode_class.h"

namespace plm {
namespace {

// Calls `use` for each character of well-formed text.
template <typename Use>
void for_each_character(std::string_view text, Use use) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    use(character.code, text.substr(at, character.bytes));
    at += character.bytes;
  }
}

NormalizerStep step_of(std::string (*rewrite)(std::string_view)) {
  return [rewrite](std::string_view text) -> Result<std::string> { return rewrite(text); };
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  while (!from.empty()) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) break;
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

// Whether BERT takes the character for a control character: general categories Cc, Cf, Co.
bool is_bert_control(char32_t code) {
  if (code == U'\t' || code == U'\n' || code == U'\r') return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

// The ranges that BERT puts spaces around; CJK unified ideographs and their compatibility forms.
bool is_bert_ideograph(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string bert_cleaned(std::string_view text, const BertNormalization& rules) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (rules.cleans) {
      if (code == 0 || code == 0xFFFD || is_bert_control(code)) return;
      if (is_white_space(code)) return out.push_back(' ');
    }
    if (!rules.spaces_chinese || code < 0x3400 || !is_bert_ideograph(code)) return static_cast<void>(out.append(bytes));
    out.append(" ").append(bytes).append(" ");
  });
  return out;
}

std::string byte_alphabet(std::string_view text) {
  std::string out;
  append_in_byte_alphabet(text, out);
  return out;
}

// The rules of SentencePiece's builder for NMT: spaces of all kinds to a space, invisible characters to nothing.
std::string nmt_cleaned(std::string_view text) {
  const auto goes = [](char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  };
  const auto is_space = [](char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  };
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (goes(code)) return;
    out.append(is_space(code) ? std::string_view(" ") : bytes);
  });
  return out;
}

std::string_view stripped(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    const Character first = character_at(text, 0);
    if (!is_white_space(first.code)) break;
    text.remove_prefix(first.bytes);
  }
  while (right && !text.empty()) {
    const Character last = character_before(text, text.size());
    if (!is_white_space(last.code)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

std::string with_space_marks(std::string_view text, const SpaceRules& rules) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  bool owes_mark = rules.prepends;  // before the next character that is no space
  bool in_word = false;
  for (const char c : text) {
    if (c == ' ') {
      if (!rules.merges) out.append(kSpaceMark);
      in_word = false;
      continue;
    }
    if (!in_word && (owes_mark || (rules.merges && !out.empty()))) out.append(kSpaceMark);
    if (!in_word) owes_mark = false;
    in_word = true;
    out.push_back(c);
  }
  return out;
}

}  // namespace

NormalizerStep unicode_form_step(UnicodeForm form) {
  return [form](std::string_view text) -> Result<std::string> { return to_unicode_form(form, text); };
}

NormalizerStep lower_case_step() { return step_of(to_lower_case); }
NormalizerStep strip_marks_step() {
  return [](std::string_view text) -> Result<std::string> {
    std::string kept;
    for_each_character(text, [&](char32_t code, std::string_view bytes) {
      if (code < 0x300 || general_category(code) != 'M') kept.append(bytes);
    });
    return kept;
  };
}
NormalizerStep byte_alphabet_step() { return step_of(byte_alphabet); }
NormalizerStep nmt_step() { return step_of(nmt_cleaned); }

NormalizerStep prepend_text_step(std::string prefix) {
  return [prefix = std::move(prefix)](std::string_view text) -> Result<std::string> {
    return text.empty() ? std::string() : prefix + std::string(text);
  };
}

NormalizerStep replace_text_step(std::string text, std::string replacement) {
  return [from = std::move(text), to = std::move(replacement)](std::string_view input) -> Result<std::string> {
    return replaced(input, from, to);
  };
}

NormalizerStep replace_pattern_step(Pattern pattern, std::string replacement) {
  // A step is copied like any function, a compiled pattern is not.
  auto shared = std::make_shared<const Pattern>(std::move(pattern));
  return [shared, to = std::move(replacement)](std::string_view text) -> Result<std::string> {
    PatternSearch search(text.size());
    std::string out;
    std::size_t copied = 0;
    for (std::size_t from = 0; from <= text.size();) {
      PLM_TRY_ASSIGN(const auto match, shared->find(text, from, search));
      if (!match) break;
      out.append(text.substr(copied, match->begin - copied)).append(to);
      copied = match->end;
      from = match->end;
      if (match->begin == match->end) from += from < text.size() ? character_at(text, from).bytes : 1;
    }
    return out.append(text.substr(copied));
  };
}

NormalizerStep strip_spaces_step(bool left, bool right) {
  return
      [left, right](std::string_view text) -> Result<std::string> { return std::string(stripped(text, left, right)); };
}

NormalizerStep charsmap_step(std::shared_ptr<const Charsmap> map, bool by_grapheme) {
  return [map = std::move(map), by_grapheme](std::string_view text) -> Result<std::string> {
    return by_grapheme ? map->rewrite_graphemes(text) : map->rewrite(text);
  };
}

NormalizerStep bert_step(const BertNormalization& rules) {
  return [rules](std::string_view text) -> Result<std::string> {
    std::string out = bert_cleaned(text, rules);
    if (rules.strips_accents) out = without_marks(to_unicode_form(UnicodeForm::nfd, out));
    return rules.lower_case ? to_lower_case(out) : out;
  };
}

NormalizerStep space_marks_step(const SpaceRules& rules) {
  return [rules](std::string_view text) -> Result<std::string> { return with_space_marks(text, rules); };
}

Result<std::string> Normalizer::apply(std::string_view text) const {
  std::string normal(text);
  for (const NormalizerStep& step : steps_) {
    PLM_TRY_ASSIGN(normal, step(normal));
  }
  return normal;
}

}  // namespace plm
