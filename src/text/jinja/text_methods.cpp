// The methods of a str. Declared as a table in methods.h. Tested by tests/text/jinja/test_conformance.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"
#include "text/jinja/text_operations.h"

namespace plm::jinja {
namespace {

const MarkedText& self(const Call& call) { return *call.subject.text(); }

Value texts(Call& call, std::vector<MarkedText> pieces) {
  std::vector<Value> items;
  items.reserve(pieces.size());
  for (MarkedText& piece : pieces) items.push_back(call.rendering.made(std::move(piece)));
  return call.rendering.made_list(std::move(items));
}

template <Side side>
Value strip(Call& call) {
  std::optional<std::string_view> characters;
  if (call.given_some(0) != nullptr) characters = call.text(0).text();
  call.rendering.spend_text(self(call).size());
  return call.rendering.made(stripped(self(call), side, characters));
}

template <bool from_end>
Value split_method(Call& call) {
  const std::int64_t count = call.integer(1, -1);
  call.rendering.spend_text(self(call).size());
  if (call.given_some(0) == nullptr) {
    return texts(call, from_end ? split_last_words(self(call), count) : split_words(self(call), count));
  }
  const std::string& separator = call.text(0).text();
  if (separator.empty()) refuse("{} needs a separator that is not empty", call.name);
  return texts(call, from_end ? split_last(self(call), separator, count) : split(self(call), separator, count));
}

Value splitlines(Call& call) {
  call.rendering.spend_text(self(call).size());
  return texts(call, split_lines(self(call), call.flag(0, false)));
}

// What startswith, find and count look at: the text between the characters `from` and `to`.
struct Window {
  std::size_t begin, end;  // bytes
  std::size_t first;       // characters before `begin`
  bool is_valid;           // false: start lies behind the end
};

Window window(Call& call, std::size_t from_place, std::size_t to_place) {
  const std::string& text = self(call).text();
  const bool is_whole = call.given_some(from_place) == nullptr && call.given_some(to_place) == nullptr;
  if (is_whole) return {0, text.size(), 0, true};
  call.rendering.spend_text(text.size());
  const auto length = static_cast<std::int64_t>(count_characters(text));
  const auto bound = [&](std::size_t place, std::int64_t fallback) {
    const std::int64_t given = call.given_some(place) == nullptr ? fallback : call.integer(place);
    return given < 0 ? std::max<std::int64_t>(given < -length ? 0 : given + length, 0) : given;
  };
  const std::int64_t from = bound(from_place, 0);
  const std::int64_t to = std::min(bound(to_place, length), length);
  if (from > length || from > to) return {0, 0, 0, false};
  const std::size_t begin = byte_of_character(text, static_cast<std::size_t>(from));
  const std::size_t end = byte_of_character(text, static_cast<std::size_t>(to));
  return {begin, std::max(begin, end), static_cast<std::size_t>(from), true};
}

template <bool at_end>
Value starts_or_ends(Call& call) {
  const Window part = window(call, 1, 2);
  const std::string_view text = std::string_view(self(call).text()).substr(part.begin, part.end - part.begin);
  const auto matches = [&](const Value& candidate) {
    candidate.check_defined();
    if (candidate.text() == nullptr)
      refuse("{} needs a str or a tuple of them, found a {}", call.name, candidate.type_name());
    call.rendering.spend_text(candidate.text()->size());
    const std::string& wanted = candidate.text()->text();
    return part.is_valid && (at_end ? text.ends_with(wanted) : text.starts_with(wanted));
  };
  const Sequence* several = call[0].sequence();
  if (several == nullptr || several->kind != Sequence::Kind::tuple) return Value(matches(call[0]));
  return Value(std::any_of(several->items.begin(), several->items.end(), matches));
}

// The character at which `find` and the like succeed, or -1.
std::int64_t place_of(Call& call, bool from_end) {
  const Window part = window(call, 1, 2);
  if (!part.is_valid) return -1;
  call.rendering.spend_text(2 * self(call).size() + call.text(0).size());
  const std::string_view text = std::string_view(self(call).text()).substr(part.begin, part.end - part.begin);
  const std::string& wanted = call.text(0).text();
  const std::size_t found = from_end ? find_last_text(text, wanted) : find_text(text, wanted);
  if (found == std::string_view::npos) return -1;
  return static_cast<std::int64_t>(part.first + count_characters(text.substr(0, found)));
}

template <bool from_end>
Value find_method_of_text(Call& call) {
  return Value(place_of(call, from_end));
}

template <bool from_end>
Value index_of_text(Call& call) {
  const std::int64_t place = place_of(call, from_end);
  if (place < 0) refuse("{}: the text is not found", call.name);
  return Value(place);
}

Value count_of_text(Call& call) {
  const Window part = window(call, 1, 2);
  call.rendering.spend_text(self(call).size() + call.text(0).size());
  if (!part.is_valid) return Value(std::int64_t{0});
  const std::string_view text = std::string_view(self(call).text()).substr(part.begin, part.end - part.begin);
  const std::string& wanted = call.text(0).text();
  if (wanted.empty()) return Value(count_characters(text) + 1);
  std::size_t count = 0;
  for (std::size_t at = find_text(text, wanted); at != std::string_view::npos;
       at = find_text(text, wanted, at + wanted.size())) {
    ++count;
  }
  return Value(count);
}

Value replace(Call& call) {
  return call.rendering.made(replaced(call.rendering, self(call), call.text(0), call.text(1), call.integer(2, -1)));
}

Value join(Call& call) {
  call[0].check_defined();
  MarkedText joined;
  bool is_first = true;
  for (const Value& item : items_of(call.rendering, call[0])) {
    item.check_defined();
    if (item.text() == nullptr) refuse("join needs texts, found a {}", item.type_name());
    if (!std::exchange(is_first, false)) joined.append(self(call));
    joined.append(*item.text());
    call.rendering.spend_text(item.text()->size() + self(call).size());
  }
  return call.rendering.made(std::move(joined));
}

Value format_method(Call& call) { return format_braces(call.rendering, self(call), call.rest); }

using Mapping = MarkedText (*)(const MarkedText&);
template <Mapping mapping>
Value map_text(Call& call) {
  return call.rendering.made(mapping(self(call)));
}

Value title(Call& call) { return call.rendering.made(titled(self(call), Words::after_non_letters)); }

Value casefold(Call& call) {
  return call.rendering.made(
      mapped(self(call), [](std::string& to, const Character& character) { append_folded(to, character.code); }));
}

Value swapcase(Call& call) {
  return call.rendering.made(mapped(self(call), [](std::string& to, const Character& character) {
    is_upper(character.code) ? append_lower(to, character.code) : append_upper(to, character.code);
  }));
}

using CharacterTest = bool (*)(char32_t);
// Whether there are characters and all pass.
template <CharacterTest passes>
Value all_characters_are(Call& call) {
  call.rendering.spend_text(self(call).size());
  for (const Character character : Characters(self(call).text())) {
    if (!passes(character.code)) return Value(false);
  }
  return Value(!self(call).empty());
}

bool is_alphanumeric(char32_t code) { return is_alphabetic(code) || is_numeric(code); }
bool is_ascii(char32_t code) { return code < 0x80; }

Value isascii(Call& call) { return Value(self(call).empty() || all_characters_are<is_ascii>(call).is_true()); }

// Whether there are letters with case and all of them are of this one.
template <CharacterTest wanted, CharacterTest other>
Value all_cased_are(Call& call) {
  call.rendering.spend_text(self(call).size());
  bool has_any = false;
  for (const Character character : Characters(self(call).text())) {
    if (other(character.code)) return Value(false);
    has_any |= wanted(character.code);
  }
  return Value(has_any);
}

Value istitle(Call& call) {
  bool has_any = false, follows_letter = false;
  call.rendering.spend_text(self(call).size());
  for (const Character character : Characters(self(call).text())) {
    const bool upper_case = is_upper(character.code), lower_case = is_lower(character.code);
    if ((upper_case && follows_letter) || (lower_case && !follows_letter)) return Value(false);
    follows_letter = upper_case || lower_case;
    has_any |= follows_letter;
  }
  return Value(has_any);
}

template <Side side>
Value pad(Call& call) {
  std::string fill = " ";
  if (call.given(1) != nullptr) {
    fill = call.text(1).text();
    if (count_characters(fill) != 1) refuse("{} fills with one character", call.name);
  }
  return call.rendering.made(padded(call.rendering, self(call), call.integer(0), side, fill));
}

Value zfill(Call& call) {
  const MarkedText& text = self(call);
  const std::int64_t width = call.integer(0);
  const bool has_sign = text.text().starts_with('+') || text.text().starts_with('-');
  if (!has_sign) return call.rendering.made(padded(call.rendering, text, width, Side::right, "0"));
  MarkedText result = text.slice(0, 1);
  const std::int64_t width_left = width > 0 ? width - 1 : 0;
  result.append(padded(call.rendering, text.slice(1, text.size()), width_left, Side::right, "0"));
  return call.rendering.made(std::move(result));
}

Value removeprefix(Call& call) {
  const bool has = self(call).text().starts_with(call.text(0).text());
  return call.rendering.made(self(call).slice(has ? call.text(0).size() : 0, self(call).size()));
}

Value removesuffix(Call& call) {
  const bool has = self(call).text().ends_with(call.text(0).text());
  return call.rendering.made(self(call).slice(0, self(call).size() - (has ? call.text(0).size() : 0)));
}

template <bool from_end>
Value partition(Call& call) {
  const MarkedText& text = self(call);
  const MarkedText& separator = call.text(0);
  if (separator.empty()) refuse("{} needs a separator that is not empty", call.name);
  call.rendering.spend_text(2 * text.size());
  const std::size_t found =
      from_end ? find_last_text(text.text(), separator.text()) : find_text(text.text(), separator.text());
  if (found == std::string_view::npos) {
    const Value empty((MarkedText()));
    return from_end ? make_tuple({empty, empty, call.subject}) : make_tuple({call.subject, empty, empty});
  }
  const std::size_t end = found + separator.size();
  return make_tuple({Value(text.slice(0, found)), Value(text.slice(found, end)), Value(text.slice(end, text.size()))});
}

Value expandtabs(Call& call) {
  const std::int64_t size = std::clamp<std::int64_t>(call.integer(0, 8), 0, 1000);
  std::size_t column = 0;
  call.rendering.spend_text(self(call).size() * static_cast<std::size_t>(size + 1));
  return call.rendering.made(mapped(self(call), [&](std::string& to, const Character& character) {
    if (character.code == '\t') {
      const std::size_t spaces =
          size == 0 ? 0 : static_cast<std::size_t>(size) - column % static_cast<std::size_t>(size);
      to.append(spaces, ' ');
      column += spaces;
      return;
    }
    append_utf8(to, character.code);
    column = character.code == '\n' || character.code == '\r' ? 0 : column + 1;
  }));
}

constexpr std::array<Builtin, 42> kMethods = {{
    {"capitalize", "", map_text<capitalized>},
    {"casefold", "", casefold},
    {"center", "width fillchar?", pad<Side::both>},
    {"count", "sub start? end?", count_of_text},
    {"endswith", "suffix start? end?", starts_or_ends<true>},
    {"expandtabs", "tabsize?", expandtabs},
    {"find", "sub start? end?", find_method_of_text<false>},
    {"format", "*", format_method},
    {"index", "sub start? end?", index_of_text<false>},
    {"isalnum", "", all_characters_are<is_alphanumeric>},
    {"isalpha", "", all_characters_are<is_alphabetic>},
    {"isascii", "", isascii},
    {"isdecimal", "", all_characters_are<is_decimal>},
    {"isdigit", "", all_characters_are<is_digit>},
    {"islower", "", all_cased_are<is_lower, is_upper>},
    {"isnumeric", "", all_characters_are<is_numeric>},
    {"isprintable", "", all_characters_are<is_printable>},
    {"isspace", "", all_characters_are<is_space>},
    {"istitle", "", istitle},
    {"isupper", "", all_cased_are<is_upper, is_lower>},
    {"join", "iterable", join},
    {"ljust", "width fillchar?", pad<Side::left>},
    {"lower", "", map_text<lower>},
    {"lstrip", "chars?", strip<Side::left>},
    {"partition", "sep", partition<false>},
    {"removeprefix", "prefix", removeprefix},
    {"removesuffix", "suffix", removesuffix},
    {"replace", "old new count?", replace},
    {"rfind", "sub start? end?", find_method_of_text<true>},
    {"rindex", "sub start? end?", index_of_text<true>},
    {"rjust", "width fillchar?", pad<Side::right>},
    {"rpartition", "sep", partition<true>},
    {"rsplit", "sep? maxsplit?", split_method<true>},
    {"rstrip", "chars?", strip<Side::right>},
    {"split", "sep? maxsplit?", split_method<false>},
    {"splitlines", "keepends?", splitlines},
    {"startswith", "prefix start? end?", starts_or_ends<false>},
    {"strip", "chars?", strip<Side::both>},
    {"swapcase", "", swapcase},
    {"title", "", title},
    {"upper", "", map_text<upper>},
    {"zfill", "width", zfill},
}};

}  // namespace

std::span<const Builtin> text_methods() { return kMethods; }

}  // namespace plm::jinja
