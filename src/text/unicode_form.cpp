#include "text/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

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

}  // namespace

std::string to_nfc(std::string_view text) {
  // Text below U+0300, whose first byte is CC, is composed already.
  const bool may_change =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xCC; });
  if (!may_change || has_endless_marks(text)) return std::string(text);
  utf8proc_uint8_t* composed = nullptr;
  const auto size = utf8proc_map(utf8_bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &composed,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  PLM_CHECK(size >= 0);
  const std::string result(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size));
  std::free(composed);
  return result;
}

}  // namespace plm
