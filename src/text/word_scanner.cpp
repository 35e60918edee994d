#include "text/word_scanner.h"

#include <array>

#include "text/unicode_class.h"

namespace plm {
namespace {

enum class Class : unsigned char { letter, number, space, mark, other };

Class class_above_ascii(char32_t code) {
  switch (general_category(code)) {
    case 'L': return Class::letter;
    case 'N': return Class::number;
    case 'M': return Class::mark;
    default: return is_white_space(code) ? Class::space : Class::other;
  }
}

constexpr std::array<Class, 128> kAsciiClasses = [] {
  std::array<Class, 128> classes{};
  for (unsigned c = 0; c < 128; ++c) {
    const bool letter = (c | 32U) >= 'a' && (c | 32U) <= 'z';
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    classes[c] = letter ? Class::letter : c >= '0' && c <= '9' ? Class::number : space ? Class::space : Class::other;
  }
  return classes;
}();

// What the expressions tell apart. Without `marks` a mark is none of letter, number, space.
template <bool marks>
struct Reader {
  std::string_view text;

  struct Step {
    Class kind;
    std::size_t end;
  };
  // The character at `at`, which must lie inside.
  [[nodiscard]] Step read(std::size_t at) const {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead < 0x80) return {kAsciiClasses[lead], at + 1};
    const Character character = character_at(text, at);
    Class kind = class_above_ascii(character.code);
    if (kind == Class::mark) kind = marks ? Class::letter : Class::other;
    return {kind, at + character.bytes};
  }
  // The end of the run of this kind that goes on at `at`, of at most `limit` characters.
  [[nodiscard]] std::size_t run(Class kind, std::size_t at, std::size_t limit = std::string_view::npos) const {
    for (std::size_t count = 0; count < limit && at < text.size(); ++count) {
      const Step step = read(at);
      if (step.kind != kind) break;
      at = step.end;
    }
    return at;
  }
};

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The end of 's 't 're 've 'm 'll 'd at `at`, where an apostrophe stands; `at` when there is none.
template <bool any_case>
std::size_t contraction_end(std::string_view text, std::size_t at) {
  const auto letter = [&](std::size_t i) {
    if (at + i >= text.size()) return '\0';
    return any_case ? lower_ascii(text[at + i]) : text[at + i];
  };
  const char first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) {
    return at + 3;
  }
  // The long s is an s in some case.
  if (any_case && text.substr(at + 1).starts_with("\xC5\xBF")) return at + 3;
  return at;
}

// \s+(?!\S)|\s+ for the run of spaces from `at` to `end`: the last one is left to the word that follows it.
std::size_t spaces_end(std::string_view text, std::size_t at, std::size_t end, bool word_follows) {
  if (!word_follows) return end;
  const std::size_t last = end - character_before(text, end).bytes;
  return last > at ? last : end;
}

template <bool single_digits>
std::size_t scan_gpt2_kind(std::string_view text, std::size_t at) {
  const Reader<false> reader{text};
  const auto first = reader.read(at);
  if (single_digits && first.kind == Class::number) return first.end;
  if (text[at] == '\'') {
    const std::size_t end = contraction_end<false>(text, at);
    if (end > at) return end;
  }
  if (first.kind != Class::space) return reader.run(first.kind, first.end);
  if (text[at] == ' ' && first.end < text.size()) {
    const auto next = reader.read(first.end);
    if (next.kind != Class::space && !(single_digits && next.kind == Class::number)) {
      return reader.run(next.kind, next.end);
    }
  }
  const std::size_t end = reader.run(Class::space, first.end);
  const bool word_follows = end < text.size() && !(single_digits && reader.read(end).kind == Class::number);
  return spaces_end(text, at, end, word_follows);
}

bool is_newline(char c) { return c == '\r' || c == '\n'; }

template <bool marks, std::size_t digits>
std::size_t scan_cl100k_kind(std::string_view text, std::size_t at) {
  const Reader<marks> reader{text};
  const auto first = reader.read(at);
  if (text[at] == '\'') {
    const std::size_t end = contraction_end<true>(text, at);
    if (end > at) return end;
  }
  if (first.kind == Class::letter) return reader.run(Class::letter, first.end);
  if (first.kind == Class::number) return reader.run(Class::number, first.end, digits - 1);
  std::size_t symbols_end = first.kind == Class::other ? first.end : at;
  if (!is_newline(text[at]) && first.end < text.size()) {
    const auto next = reader.read(first.end);
    if (next.kind == Class::letter) return reader.run(Class::letter, next.end);
    if (text[at] == ' ' && next.kind == Class::other) symbols_end = next.end;
  }
  if (symbols_end > at) {
    std::size_t end = reader.run(Class::other, symbols_end);
    while (end < text.size() && is_newline(text[end])) ++end;
    return end;
  }
  const std::size_t end = reader.run(Class::space, first.end);
  for (std::size_t newline = end; newline > at; --newline) {
    if (is_newline(text[newline - 1])) return newline;
  }
  return spaces_end(text, at, end, end < text.size());
}

}  // namespace

std::size_t scan_gpt2(std::string_view text, std::size_t at) { return scan_gpt2_kind<false>(text, at); }
std::size_t scan_gpt2_single_digits(std::string_view text, std::size_t at) { return scan_gpt2_kind<true>(text, at); }
std::size_t scan_llama3(std::string_view text, std::size_t at) { return scan_cl100k_kind<false, 3>(text, at); }
std::size_t scan_qwen2(std::string_view text, std::size_t at) { return scan_cl100k_kind<false, 1>(text, at); }
std::size_t scan_qwen35(std::string_view text, std::size_t at) { return scan_cl100k_kind<true, 1>(text, at); }

std::size_t scan_lines(std::string_view text, std::size_t at) {
  const std::size_t end = text[at] == '\n' ? text.find_first_not_of('\n', at) : text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end;
}

}  // namespace plm
