#include "text/jinja/string_literal.h"

#include <charconv>

#include "text/jinja/characters.h"

namespace plm::jinja {
namespace {

constexpr std::string_view kSimple = "\\'\"abfnrtv";
constexpr std::string_view kMeaning = "\\'\"\a\b\f\n\r\t\v";

bool is_high_surrogate(char32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_low_surrogate(char32_t code) { return code >= 0xDC00 && code < 0xE000; }

// The number written with exactly `count` hexadecimal digits at the start of `text`.
bool read_hexadecimal(std::string_view text, std::size_t count, char32_t& code) {
  if (text.size() < count) return false;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, number, 16);
  code = number;
  return error == std::errc() && end == text.data() + count;
}

std::size_t hexadecimal_digits(char escape) { return escape == 'x' ? 2 : escape == 'u' ? 4 : escape == 'U' ? 8 : 0; }

}  // namespace

tl::expected<std::string, EscapeFault> resolve_escapes(std::string_view body) {
  std::string text;
  std::size_t at = 0;
  while (at < body.size()) {
    const std::size_t begin = at;
    if (body[at] != '\\' || at + 1 == body.size()) {
      text.push_back(body[at++]);
      continue;
    }
    const char escape = body[at + 1];
    at += 2;
    if (const std::size_t simple = kSimple.find(escape); simple != std::string_view::npos) {
      text.push_back(kMeaning[simple]);
    } else if (escape == '\n') {
      // A line that goes on.
    } else if (escape >= '0' && escape <= '7') {
      char32_t code = static_cast<char32_t>(escape - '0');
      for (int more = 0; more < 2 && at < body.size() && body[at] >= '0' && body[at] <= '7'; ++more) {
        code = code * 8 + static_cast<char32_t>(body[at++] - '0');
      }
      append_utf8(text, code);
    } else if (const std::size_t digits = hexadecimal_digits(escape); digits != 0) {
      char32_t code = 0, low = 0;
      if (!read_hexadecimal(body.substr(at), digits, code) || code > 0x10FFFF) {
        return tl::unexpected(EscapeFault{begin, "the escape is not a character's number"});
      }
      at += digits;
      if (is_high_surrogate(code) && body.substr(at, 2) == "\\u" && read_hexadecimal(body.substr(at + 2), 4, low) &&
          is_low_surrogate(low)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
      }
      append_utf8(text, code);
    } else if (escape == 'N') {
      return tl::unexpected(EscapeFault{begin, "characters by name are not supported; write \\u and the number"});
    } else {
      text.push_back('\\');
      text.push_back(escape);
    }
  }
  return text;
}

}  // namespace plm::jinja
