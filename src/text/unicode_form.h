// Unicode's normal forms and lower case, as tokenisers apply them before they cut a text (Unicode Standard Annex 15),
// by utf8proc. Tested by tests/text/test_unicode_form.cpp.
#pragma once

#include <string>
#include <string_view>

namespace plm {

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

/// The normal form of well-formed UTF-8. A stretch with more than a thousand combining marks in a row, which no script
/// has, stays as it is: sorting them would take quadratic time.
[[nodiscard]] std::string to_unicode_form(UnicodeForm form, std::string_view text);
[[nodiscard]] inline std::string to_nfc(std::string_view text) { return to_unicode_form(UnicodeForm::nfc, text); }

/// Each character by itself in lower case.
[[nodiscard]] std::string to_lower_case(std::string_view text);

/// Without nonspacing marks. Accents that are part of a letter go too only after nfd.
[[nodiscard]] std::string without_marks(std::string_view text);

}  // namespace plm
