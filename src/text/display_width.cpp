#include "text/display_width.h"

#include <utf8proc.h>

#include <algorithm>

namespace plm {

std::size_t display_width(std::string_view character) {
  utf8proc_int32_t code = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(character.data());
  if (utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(character.size()), &code) <= 0) return 1;
  return static_cast<std::size_t>(std::clamp(utf8proc_charwidth(code), 0, 2));
}

}  // namespace plm
