#include "text/jinja/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"
#include "text/jinja/text_operations.h"

namespace plm::jinja {
namespace {

constexpr std::size_t kMostPrecision = 400;  // a double has no more digits before the point
constexpr std::size_t kMostWidth = 1U << 20;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

std::optional<std::size_t> read_number(std::string_view text, std::size_t& at) {
  std::optional<std::size_t> number;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    number = number.value_or(0) * 10 + static_cast<std::size_t>(text[at] - '0');
    if (*number > kMostWidth) refuse("a width or precision above {}", kMostWidth);
  }
  return number;
}

std::string with_groups(std::string_view digits, char separator) {
  const std::size_t whole = std::min(digits.find_first_of(".e"), digits.size());
  std::string result;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) result.push_back(separator);
    result.push_back(digits[i]);
  }
  return result.append(digits.substr(whole));
}

// The digits of a real number's absolute value.
std::string real_digits(double value, const FormatSpec& spec) {
  const std::size_t precision = spec.precision.value_or(6);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  const char type = static_cast<char>(spec.type | 0x20);
  if (type == 'e') return fmt::format("{:.{}e}", value, precision);
  if (type == 'f') return fmt::format("{:.{}f}", value, precision);
  if (type == '%') return fmt::format("{:.{}f}%", value * 100, precision);
  if (type == 'g' || type == 'n') return fmt::format("{:.{}g}", value, std::max<std::size_t>(precision, 1));
  if (!spec.precision) return real_spelling(value);
  std::string digits = fmt::format("{:.{}g}", value, std::max<std::size_t>(precision, 1));
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

std::string upper_ascii(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c; });
  return text;
}

// The digits of an integer's absolute value, and the prefix before them.
std::string integer_digits(std::uint64_t value, const FormatSpec& spec, std::string& prefix) {
  switch (spec.type) {
    case 'b': prefix = "0b"; return fmt::format("{:b}", value);
    case 'o': prefix = "0o"; return fmt::format("{:o}", value);
    case 'x': prefix = "0x"; return fmt::format("{:x}", value);
    case 'X': prefix = "0X"; return fmt::format("{:X}", value);
    default: return fmt::format("{}", value);
  }
}

MarkedText padded_number(Rendering& rendering, const std::string& head, std::string body, const FormatSpec& spec) {
  const std::size_t length = head.size() + body.size();
  const char align = spec.align != '\0' ? spec.align : spec.pads_with_zeros ? '=' : '>';
  if (align == '=' && length < spec.width) {
    std::string padding;
    rendering.spend_text((spec.width - length) * spec.fill.size());
    for (std::size_t i = length; i < spec.width; ++i) padding += spec.fill;
    return {head + padding + body, Origin::input};
  }
  const Side side = align == '<' ? Side::left : align == '^' ? Side::both : Side::right;
  return padded(rendering, MarkedText(head + body, Origin::input), static_cast<std::int64_t>(spec.width), side,
                spec.fill);
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  std::size_t at = 0;
  bool has_fill = false;
  if (!text.empty()) {
    const std::size_t fill = character_at(text, 0).length;
    if (fill < text.size() && is_align(text[fill])) {
      has_fill = true;
      spec.fill = text.substr(0, fill);
      spec.align = text[fill];
      at = fill + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  const auto take = [&](std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos ? text[at++] : '\0';
  };
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.is_alternate = take("#") != '\0';
  spec.pads_with_zeros = take("0") != '\0';
  if (spec.pads_with_zeros && !has_fill) spec.fill = "0";
  spec.width = read_number(text, at).value_or(0);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    spec.precision = read_number(text, at);
    if (!spec.precision) refuse("a format specification with '.' but no precision");
  }
  spec.type = take("bcdeEfFgGnosxX%");
  if (at < text.size()) refuse("'{}' is no format specification", text);
  return spec;
}

MarkedText format_text(Rendering& rendering, const MarkedText& text, const FormatSpec& spec) {
  if (spec.type != '\0' && spec.type != 's') refuse("the format '{}' does not go with a str", spec.type);
  if (spec.align == '=') refuse("the alignment '=' does not go with a str");
  const MarkedText cut = spec.precision ? text.slice(0, byte_of_character(text.text(), *spec.precision)) : text;
  const Side side = spec.align == '>' ? Side::right : spec.align == '^' ? Side::both : Side::left;
  return padded(rendering, cut, static_cast<std::int64_t>(spec.width), side, spec.fill);
}

MarkedText format_number(Rendering& rendering, const Value& number, FormatSpec spec) {
  const auto whole = number.integer();
  const bool as_real = !whole || std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (as_real && std::string_view("bcdosxX").find(spec.type) != std::string_view::npos) {
    refuse("the format '{}' does not go with a {}", spec.type, number.type_name());
  }
  if (spec.type == 's') refuse("the format 's' does not go with a {}", number.type_name());
  if (spec.precision.value_or(0) > kMostPrecision) refuse("a precision above {}", kMostPrecision);
  if (whole && spec.type == 'c') {
    if (*whole < 0 || *whole > 0x10FFFF) refuse("{} is no character", *whole);
    std::string character;
    append_utf8(character, static_cast<char32_t>(*whole));
    return padded_number(rendering, "", character, spec);
  }
  std::string prefix, digits;
  bool is_negative = false;
  if (as_real) {
    const double value = *number.number();
    is_negative = std::signbit(value) && !std::isnan(value);
    digits = real_digits(std::abs(value), spec);
    if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') digits = upper_ascii(std::move(digits));
  } else {
    if (spec.precision) refuse("a precision does not go with an int");
    is_negative = *whole < 0;
    const auto bits = static_cast<std::uint64_t>(*whole);
    digits = integer_digits(is_negative ? 0 - bits : bits, spec, prefix);
  }
  if (spec.grouping != '\0') digits = with_groups(digits, spec.grouping);
  std::string head = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.is_alternate) head += prefix;
  return padded_number(rendering, head, std::move(digits), spec);
}

}  // namespace plm::jinja
