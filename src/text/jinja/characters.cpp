#include "text/jinja/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/utf8.h"
#include "text/unicode_class.h"

namespace plm::jinja {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

// Characters whose upper case is several characters (Unicode's SpecialCasing, those that occur in ordinary text).
struct LongCase {
  char32_t code;
  std::string_view upper, title;
};
constexpr std::array<LongCase, 12> kLongCases = {{{0xDF, "SS", "Ss"},
                                                  {0x149, "ʼN", "ʼN"},
                                                  {0x1F0, "J̌", "J̌"},
                                                  {0x587, "ԵՒ", "Եւ"},
                                                  {0x1E96, "H̱", "H̱"},
                                                  {0xFB00, "FF", "Ff"},
                                                  {0xFB01, "FI", "Fi"},
                                                  {0xFB02, "FL", "Fl"},
                                                  {0xFB03, "FFI", "Ffi"},
                                                  {0xFB04, "FFL", "Ffl"},
                                                  {0xFB05, "ST", "St"},
                                                  {0xFB06, "ST", "St"}}};

const LongCase* long_case(char32_t code) {
  if (code < 0xDF) return nullptr;
  const auto* found = std::find_if(kLongCases.begin(), kLongCases.end(),
                                   [code](const LongCase& candidate) { return candidate.code == code; });
  return found == kLongCases.end() ? nullptr : found;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, at, 1};
  const std::size_t length = utf8_character_length(text.substr(at));
  if (length == 0) return {kReplacement, at, 1};
  return {plm::character_at(text, at).code, at, length};
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).length) ++count;
  return count;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += character_at(text, at).length;
  return at;
}

std::vector<std::size_t> character_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  starts.reserve(text.size() + 1);
  for (const Character character : Characters(text)) starts.push_back(character.begin);
  starts.push_back(text.size());
  return starts;
}

void append_utf8(std::string& text, char32_t code) {
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
    return;
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = kReplacement;
  append_character(code, text);
}

bool is_space(char32_t code) {
  return is_white_space(code) || (code >= 0x1C && code <= 0x1F);  // Python counts the four separators of ASCII as well
}

bool is_alphabetic(char32_t code) {
  const auto kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  return is_decimal(code) || code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) || (code >= 0x2460 && code <= 0x2468);
}

bool is_numeric(char32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) {
  return category(code) == UTF8PROC_CATEGORY_LL || code == 0xAA || code == 0xBA || (code >= 0x2B0 && code <= 0x2B8);
}

bool is_printable(char32_t code) {
  if (code < 0x7F) return code >= 0x20;
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

bool is_word(char32_t code) { return code == '_' || is_alphabetic(code) || is_numeric(code); }

void append_upper(std::string& text, char32_t code) {
  if (const LongCase* special = long_case(code)) {
    text += special->upper;
  } else {
    append_utf8(text, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
  }
}

void append_lower(std::string& text, char32_t code) {
  append_utf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  if (code == 0x130) append_utf8(text, 0x307);  // the dotted capital I keeps its dot
}

void append_title(std::string& text, char32_t code) {
  if (const LongCase* special = long_case(code)) {
    text += special->title;
  } else {
    append_utf8(text, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code))));
  }
}

void append_folded(std::string& text, char32_t code) {
  const LongCase* special = long_case(code == 0x1E9E ? 0xDF : code);
  if (special == nullptr) {
    append_lower(text, code == 0x3C2 ? 0x3C3 : code);
    return;
  }
  for (const Character character : Characters(special->upper)) append_lower(text, character.code);
}

std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // glibc's memmem is linear in the worst case, std::string_view::find is not.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_text(std::string_view text, std::string_view needle) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::string needle_backwards(needle.rbegin(), needle.rend());
  const std::size_t found = find_text(backwards, needle_backwards);
  return found == std::string_view::npos ? found : text.size() - needle.size() - found;
}

}  // namespace plm::jinja
