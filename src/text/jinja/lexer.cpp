#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/characters.h"
#include "text/jinja/string_literal.h"

namespace plm::jinja {
namespace {

constexpr std::array<std::string_view, 6> kLongSymbols = {"**", "//", "==", "!=", "<=", ">="};
constexpr std::string_view kShortSymbols = "+-*/%~[](){}<>=.:|,;";

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of whitespace at the start of `text`.
std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (!is_space(character.code)) break;
    at = character.end();
  }
  return at;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    if (!is_space(character_at(text, begin).code)) break;
    text = text.substr(0, begin);
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) outside();
    add(TokenKind::end, at_);
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }
  [[nodiscard]] bool looking_at(std::string_view text) const { return rest().substr(0, text.size()) == text; }

  [[noreturn]] static void fail_at(std::size_t offset, std::string reason) {
    throw SyntaxFailure(static_cast<std::uint32_t>(offset), std::move(reason));
  }

  Token& add(TokenKind kind, std::size_t offset, std::string text = {}) {
    tokens_.push_back({kind, std::move(text), 0, 0, static_cast<std::uint32_t>(offset)});
    return tokens_.back();
  }

  // The next "{%", "{{" or "{#" at or after `from`, or npos.
  [[nodiscard]] std::size_t next_tag(std::size_t from) const {
    for (std::size_t brace = source_.find('{', from); brace != std::string_view::npos;
         brace = source_.find('{', brace + 1)) {
      const char next = brace + 1 < source_.size() ? source_[brace + 1] : '\0';
      if (next == '%' || next == '{' || next == '#') return brace;
    }
    return std::string_view::npos;
  }

  // Text before a tag with sign `sign` ('-', '+' or none), as its whitespace control leaves it.
  [[nodiscard]] std::string_view controlled(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return without_trailing_space(text);
    if (sign == '+' || is_variable) return text;
    const std::size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    if (line == 0 && !starts_line_) return text;
    return leading_space(text.substr(line)) == text.size() - line ? text.substr(0, line) : text;
  }

  void add_data(std::string_view text, std::size_t offset) {
    if (!text.empty()) add(TokenKind::data, offset, std::string(text));
  }

  // One stretch of text and the tag after it.
  void outside() {
    const std::size_t begin = at_;
    const std::size_t tag = next_tag(begin);
    if (tag == std::string_view::npos) {
      add_data(rest(), begin);
      at_ = source_.size();
      return;
    }
    const char type = source_[tag + 1];
    const char after = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const char sign = after == '-' || after == '+' ? after : '\0';
    add_data(controlled(source_.substr(begin, tag - begin), sign, type == '{'), begin);
    at_ = tag + 2 + (sign == '\0' ? 0 : 1);
    if (type == '#') {
      comment(tag);
    } else if (type == '%' && !raw(tag)) {
      add(TokenKind::block_begin, tag);
      inside("%}", TokenKind::block_end);
    } else if (type == '{') {
      add(TokenKind::variable_begin, tag);
      inside("}}", TokenKind::variable_end);
    }
    starts_line_ = source_[at_ - 1] == '\n';
  }

  // Consumes the end of a tag if it is here: `-` takes the whitespace behind it, and of a block or comment one line
  // break goes unless there is a `+`.
  bool take_end(std::string_view close) {
    const char sign = at_ < source_.size() ? source_[at_] : '\0';
    const bool has_sign = sign == '-' || (sign == '+' && close != "}}");
    if (rest().substr(has_sign ? 1 : 0, close.size()) != close) return false;
    at_ += close.size() + (has_sign ? 1 : 0);
    if (sign == '-') {
      at_ += leading_space(rest());
    } else if (!has_sign && close != "}}" && looking_at("\n")) {
      ++at_;
    }
    return true;
  }

  void comment(std::size_t tag) {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) fail_at(tag, "this comment has no end '#}'");
    const bool has_sign = close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+');
    at_ = close - (has_sign ? 1 : 0);
    take_end("#}");
  }

  // "{% raw %} ... {% endraw %}", whose content is data. The sign before `raw` is taken care of.
  bool raw(std::size_t tag) {
    std::size_t ahead = at_ + leading_space(rest());
    if (source_.substr(ahead, 3) != "raw") return false;
    ahead += 3;
    ahead += leading_space(source_.substr(ahead));
    const bool strips = source_.substr(ahead, 1) == "-";
    if (source_.substr(ahead + (strips ? 1 : 0), 2) != "%}") return false;
    at_ = ahead + (strips ? 3 : 2);
    if (strips) at_ += leading_space(rest());
    const std::size_t begin = at_;
    for (std::size_t close = source_.find("{%", at_); close != std::string_view::npos;
         close = source_.find("{%", close + 2)) {
      const char sign = source_.substr(close + 2, 1) == "-" ? '-' : source_.substr(close + 2, 1) == "+" ? '+' : '\0';
      at_ = close + 2 + (sign == '\0' ? 0 : 1);
      at_ += leading_space(rest());
      if (!looking_at("endraw")) continue;
      at_ += 6;
      at_ += leading_space(rest());
      if (!take_end("%}")) continue;
      starts_line_ = source_[begin - 1] == '\n';
      add_data(controlled(source_.substr(begin, close - begin), sign, false), begin);
      return true;
    }
    fail_at(tag, "this 'raw' block has no '{% endraw %}'");
  }

  // The tokens of a tag, up to and with its end; "}}" and "%}" inside brackets are no end.
  void inside(std::string_view close, TokenKind close_kind) {
    std::vector<std::pair<char, std::size_t>> brackets;
    while (true) {
      at_ += leading_space(rest());
      const std::size_t begin = at_;
      if (begin == source_.size()) fail_at(tokens_.back().offset, fmt::format("the tag has no end '{}'", close));
      if (brackets.empty() && take_end(close)) {
        add(close_kind, begin);
        return;
      }
      const char c = source_[begin];
      if (c == '"' || c == '\'') {
        string(c);
      } else if (is_ascii_digit(c)) {
        number();
      } else if (is_word(character_at(source_, begin).code)) {
        name();
      } else {
        symbol(brackets);
      }
    }
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < source_.size()) {
      const Character character = character_at(source_, at_);
      if (!is_word(character.code)) break;
      at_ = character.end();
    }
    add(TokenKind::name, begin, std::string(source_.substr(begin, at_ - begin)));
  }

  void string(char quote) {
    const std::size_t begin = at_++;
    while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
    if (at_ >= source_.size()) fail_at(begin, "this string has no closing quote");
    const std::string_view body = source_.substr(begin + 1, at_ - begin - 1);
    const auto text = resolve_escapes(body);
    if (!text.has_value()) {
      fail_at(begin + 1 + text.error().offset, fmt::format("in a string: {}", text.error().reason));
    }
    ++at_;
    add(TokenKind::string, begin, *text);
  }

  // Digits at the current place, with single underscores between them.
  std::string digits(std::string_view allowed) {
    std::string found;
    while (at_ < source_.size()) {
      const bool joins = source_[at_] == '_' && at_ + 1 < source_.size();
      const char c = source_[at_ + (joins ? 1 : 0)];
      if (allowed.find(c) == std::string_view::npos) break;
      found.push_back(c);
      at_ += joins ? 2 : 1;
    }
    return found;
  }

  void number() {
    constexpr std::string_view kDecimal = "0123456789";
    const std::size_t begin = at_;
    const char mark = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 0x20) : '\0';
    const int base = source_[begin] != '0' ? 10 : mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10) {
      at_ += 2;
      constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF";
      const std::string text = digits(base == 16 ? kHexadecimal : kDecimal.substr(0, static_cast<std::size_t>(base)));
      if (text.empty()) fail_at(begin, "a number without digits");
      return add_integer(text, base, begin);
    }
    std::string text = digits(kDecimal);
    const bool may_be_real = begin == 0 || source_[begin - 1] != '.';  // "a.0.1" subscripts twice
    bool is_real = false;
    if (may_be_real && looking_at(".") && at_ + 1 < source_.size() && is_ascii_digit(source_[at_ + 1])) {
      ++at_;
      text += "." + digits(kDecimal);
      is_real = true;
    }
    if (may_be_real && at_ < source_.size() && (source_[at_] == 'e' || source_[at_] == 'E')) {
      const std::size_t sign = source_.substr(at_ + 1, 1) == "-" || source_.substr(at_ + 1, 1) == "+" ? 1 : 0;
      if (at_ + 1 + sign < source_.size() && is_ascii_digit(source_[at_ + 1 + sign])) {
        text += "e" + std::string(source_.substr(at_ + 1, sign == 1 && source_[at_ + 1] == '-' ? 1 : 0));
        at_ += 1 + sign;
        text += digits(kDecimal);
        is_real = true;
      }
    }
    if (!is_real) return add_integer(text, 10, begin);
    Token& token = add(TokenKind::real, begin);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.real);
    if (error != std::errc()) fail_at(begin, "the number is outside of what a float holds");
  }

  void add_integer(const std::string& text, int base, std::size_t begin) {
    if (base == 10 && text.size() > 1 && text.front() == '0' && text.find_first_not_of('0') != std::string::npos) {
      fail_at(begin, "a whole number must not begin with 0");
    }
    Token& token = add(TokenKind::integer, begin);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token.integer, base);
    if (error != std::errc()) fail_at(begin, "the number does not fit into 64 bits");
  }

  void symbol(std::vector<std::pair<char, std::size_t>>& brackets) {
    const std::size_t begin = at_;
    for (const std::string_view sign : kLongSymbols) {
      if (!looking_at(sign)) continue;
      at_ += sign.size();
      add(TokenKind::symbol, begin, std::string(sign));
      return;
    }
    const char c = source_[begin];
    if (kShortSymbols.find(c) == std::string_view::npos) {
      const std::size_t length = character_at(source_, begin).length;
      fail_at(begin, fmt::format("unexpected character '{}'", printable(source_.substr(begin, length))));
    }
    if (c == '(' || c == '[' || c == '{') brackets.emplace_back(c == '(' ? ')' : c == '[' ? ']' : '}', begin);
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty()) fail_at(begin, fmt::format("unexpected '{}'", c));
      if (brackets.back().first != c)
        fail_at(begin, fmt::format("expected '{}', found '{}'", brackets.back().first, c));
      brackets.pop_back();
    }
    ++at_;
    add(TokenKind::symbol, begin, std::string(1, c));
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool starts_line_ = true;  // whether the text after the last tag begins a line
  std::vector<Token> tokens_;
};

}  // namespace

std::string with_plain_line_breaks(std::string_view source) {
  std::string plain;
  plain.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool is_return = source[at] == '\r';
    if (is_return && at + 1 < source.size() && source[at + 1] == '\n') ++at;
    plain.push_back(is_return ? '\n' : source[at]);
  }
  if (!plain.empty() && plain.back() == '\n') plain.pop_back();
  return plain;
}

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace plm::jinja
