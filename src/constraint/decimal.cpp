#include "constraint/decimal.h"

#include <algorithm>

namespace plm {
namespace {

// a - b for digit strings of one length, a >= b.
std::string subtract(std::string a, const std::string& b) {
  int borrow = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    int digit = a[i] - b[i] - borrow;
    borrow = digit < 0 ? 1 : 0;
    if (digit < 0) digit += 10;
    a[i] = static_cast<char>('0' + digit);
  }
  return a;
}

bool all_zero(std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

}  // namespace

Decimal::Decimal(std::int64_t value) : negative_(value < 0) {
  digits_ = std::to_string(value);
  if (negative_) digits_.erase(0, 1);
  normalise();
}

void Decimal::normalise() {
  const std::size_t last = digits_.find_last_not_of('0');
  if (last == std::string::npos) {
    *this = Decimal();
    return;
  }
  exponent_ += static_cast<std::int64_t>(digits_.size() - last - 1);
  digits_.erase(last + 1);
  digits_.erase(0, digits_.find_first_not_of('0'));
}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal value;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    value.negative_ = true;
    ++at;
  }
  const std::size_t integer = at;
  at = skip_digits(text, at);
  if (at == integer || (text[integer] == '0' && at > integer + 1)) return std::nullopt;
  value.digits_ = text.substr(integer, at - integer);
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = ++at;
    at = skip_digits(text, at);
    if (at == fraction) return std::nullopt;
    value.digits_ += text.substr(fraction, at - fraction);
    value.exponent_ = -static_cast<std::int64_t>(at - fraction);
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t power = at;
    std::int64_t shift = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      shift = std::min<std::int64_t>(shift * 10 + (text[at] - '0'), 1'000'000'000);
    }
    if (at == power) return std::nullopt;
    value.exponent_ += down ? -shift : shift;
  }
  if (at != text.size()) return std::nullopt;
  value.normalise();
  const auto digits = static_cast<std::int64_t>(value.digits_.size());
  const auto most = static_cast<std::int64_t>(kMostDigits);
  const bool fits = value.exponent_ >= -most && value.exponent_ <= most && digits <= most;
  return fits ? std::optional(value) : std::nullopt;
}

Decimal Decimal::magnitude() const {
  Decimal result = *this;
  result.negative_ = false;
  return result;
}

std::string Decimal::integer_digits() const {
  if (is_zero()) return "0";
  if (exponent_ >= 0) return digits_ + std::string(static_cast<std::size_t>(exponent_), '0');
  const auto places = static_cast<std::size_t>(-exponent_);
  return places >= digits_.size() ? "0" : digits_.substr(0, digits_.size() - places);
}

std::string Decimal::fraction_digits() const {
  if (exponent_ >= 0) return "";
  const auto places = static_cast<std::size_t>(-exponent_);
  if (places > digits_.size()) return std::string(places - digits_.size(), '0') + digits_;
  return digits_.substr(digits_.size() - places);
}

std::string Decimal::text() const {
  std::string result = negative_ ? "-" : "";
  result += integer_digits();
  const std::string fraction = fraction_digits();
  return fraction.empty() ? result : result + "." + fraction;
}

bool Decimal::is_multiple_of(const Decimal& step) const {
  if (is_zero()) return true;
  // Both as integers in units of the finer one.
  const std::int64_t unit = std::min(exponent_, step.exponent_);
  const std::string value = digits_ + std::string(static_cast<std::size_t>(exponent_ - unit), '0');
  const std::string divisor = "0" + step.digits_ + std::string(static_cast<std::size_t>(step.exponent_ - unit), '0');
  std::string rest(divisor.size(), '0');  // one digit more than the divisor needs: ten times a remainder fits
  for (const char digit : value) {
    rest.erase(0, 1);
    rest.push_back(digit);
    while (rest >= divisor) rest = subtract(rest, divisor);
  }
  return all_zero(rest);
}

std::optional<std::int64_t> Decimal::small_integer() const {
  if (!is_integer()) return std::nullopt;
  const std::string digits = integer_digits();
  if (digits.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : digits) value = value * 10 + (digit - '0');
  return negative_ ? -value : value;
}

Decimal Decimal::shifted(std::int64_t power) const {
  Decimal result = *this;
  if (!is_zero()) result.exponent_ += power;
  return result;
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  const Decimal& low = a.negative_ ? b : a;
  const Decimal& high = a.negative_ ? a : b;
  const std::string x = low.integer_digits(), y = high.integer_digits();
  if (x.size() != y.size()) return x.size() <=> y.size();
  if (const int order = x.compare(y); order != 0) return order <=> 0;
  return low.fraction_digits().compare(high.fraction_digits()) <=> 0;  // trailing zeros are gone, so this is by value
}

}  // namespace plm
