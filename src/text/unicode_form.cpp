#include "text/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "text/unicode_class.h"

namespace plm {
namespace {

constexpr int kMarksInARow = 1000;

const utf8proc_uint8_t* utf8_bytes(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

bool has_endless_marks(std::string_view text) {
  int marks = 0;
  while (!text.empty()) {
    utf8proc_int32_t character = 0;
    const auto length = utf8proc_iterate(utf8_bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &character);
    PLM_CHECK(length > 0);
    marks = utf8proc_get_property(character)->combining_class > 0 ? marks + 1 : 0;
    if (marks > kMarksInARow) return true;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return false;
}

// Appends the form of the whole `text`.
void append_form(UnicodeForm form, std::string_view text, std::string& out) {
  if (has_endless_marks(text)) return static_cast<void>(out.append(text));
  const bool composes = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const bool is_compatible = form == UnicodeForm::nfkc || form == UnicodeForm::nfkd;
  const int options =
      UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (is_compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* formed = nullptr;
  const auto size = utf8proc_map(utf8_bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &formed,
                                 static_cast<utf8proc_option_t>(options));
  PLM_CHECK(size >= 0);
  out.append(reinterpret_cast<const char*>(formed), static_cast<std::size_t>(size));
  std::free(formed);
}

}  // namespace

std::string to_unicode_form(UnicodeForm form, std::string_view text) {
  // Composed text below U+0300, whose first byte is CC, is composed already; only ASCII is in every form. An ASCII
  // character never joins what stands before it, so the stretches between such characters are formed one by one.
  const unsigned char first_changing = form == UnicodeForm::nfc ? 0xCC : 0x80;
  const auto may_change = [&](char c) { return static_cast<unsigned char>(c) >= first_changing; };
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto changing = std::find_if(text.begin(), text.end(), may_change);
    auto begin = static_cast<std::size_t>(changing - text.begin());
    if (changing == text.end()) return out.append(text);
    if (begin > 0) begin -= character_before(text, begin).bytes;  // a mark may join it
    const auto end = static_cast<std::size_t>(std::find_if(changing, text.end(), is_ascii) - text.begin());
    out.append(text.substr(0, begin));
    append_form(form, text.substr(begin, end - begin), out);
    text.remove_prefix(end);
  }
  return out;
}

std::string to_lower_case(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    at += character.bytes;
    if (character.code < 0x80) {
      const auto c = static_cast<char>(character.code);
      lower.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
    } else if (character.code == 0x130) {
      lower += "i\xCC\x87";  // the one letter whose lower case is two characters
    } else {
      append_character(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))), lower);
    }
  }
  return lower;
}

std::string without_marks(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.code < 0x300 || !is_nonspacing_mark(character.code)) kept.append(text, at, character.bytes);
    at += character.bytes;
  }
  return kept;
}

}  // namespace plm
