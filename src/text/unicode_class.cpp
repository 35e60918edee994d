#include "text/unicode_class.h"

#include <array>

namespace plm {
namespace {

// By UTF8PROC_CATEGORY_*: Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co
constexpr std::string_view kMajorCategories = "CLLLLLMMMNNNPPPPPPPSSSSZZZCCCC";

}  // namespace

char general_category(char32_t code) {
  return kMajorCategories[static_cast<std::size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(code)))];
}

bool is_white_space(char32_t code) {
  if (code < 0x80) return code == U' ' || (code >= 9 && code <= 13);
  if (code < 0x2000) return code == 0x85 || code == 0xA0 || code == 0x1680;
  return code <= 0x200A || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_word_character(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND) || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9);
}

bool is_bert_punctuation(char32_t code) {
  if (code < 0x80) return code > U' ' && code < 0x7F && !is_letter(code) && !is_number(code);
  return general_category(code) == 'P';
}

bool is_nonspacing_mark(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_MN;
}

void append_character(char32_t code, std::string& out) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

}  // namespace plm
