// Unicode's normal forms, as tokenisers apply them before they cut a text (Unicode Standard Annex 15), by utf8proc.
// Tested by tests/text/test_unicode_form.cpp.
#pragma once

#include <string>
#include <string_view>

namespace plm {

/// The composed form (NFC) of well-formed UTF-8. Text with more than a thousand combining marks in a row, which no
/// script has, is returned as it is: sorting them would take quadratic time.
[[nodiscard]] std::string to_nfc(std::string_view text);

}  // namespace plm
