#include "text/jinja/number_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "text/jinja/marked_text.h"
#include "text/jinja/text_operations.h"

namespace plm::jinja {
namespace {

// Digits without the spaces around them, the underscores between them and the sign.
struct Digits {
  std::string text;
  bool is_negative = false;
};

std::optional<Digits> bare(std::string_view text) {
  const MarkedText trimmed = stripped(MarkedText(std::string(text), Origin::input), Side::both, std::nullopt);
  std::string_view rest = trimmed.text();
  Digits digits;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    digits.is_negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool joins = rest[i] == '_' && i > 0 && i + 1 < rest.size() && rest[i - 1] != '_' && rest[i + 1] != '_';
    if (rest[i] == '_' && !joins) return std::nullopt;
    if (!joins) digits.text.push_back(rest[i]);
  }
  if (digits.text.empty() || digits.text.front() == '-' || digits.text.front() == '+') return std::nullopt;
  return digits;
}

// The base that a prefix names, which is taken off; 0 when there is none.
int take_prefix(std::string& text) {
  if (text.size() < 3 || text.front() != '0') return 0;
  const char mark = static_cast<char>(text[1] | 0x20);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (base != 0) text.erase(0, 2);
  return base;
}

}  // namespace

std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t base) {
  auto digits = bare(text);
  if (!digits || (base != 0 && (base < 2 || base > 36))) return std::nullopt;
  if (base == 0 || base == 2 || base == 8 || base == 16) {
    std::string without = digits->text;
    const int named = take_prefix(without);
    if (named != 0 && (base == 0 || named == base)) digits->text = without;
    if (base == 0) base = named == 0 ? 10 : named;
  }
  if (digits->is_negative) digits->text.insert(0, "-");
  std::int64_t value = 0;
  const char* end = digits->text.data() + digits->text.size();
  const auto [stop, error] = std::from_chars(digits->text.data(), end, value, static_cast<int>(base));
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<double> real_of(std::string_view text) {
  const auto digits = bare(text);
  if (!digits) return std::nullopt;
  double value = 0;
  const char* end = digits->text.data() + digits->text.size();
  const auto [stop, error] = std::from_chars(digits->text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return digits->is_negative ? -value : value;
}

}  // namespace plm::jinja
