// Filters that make texts of texts. Declared in filters.h. Tested by tests/text/jinja/test_conformance.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "text/jinja/access.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/rendering.h"
#include "text/jinja/spelling.h"
#include "text/jinja/text_operations.h"

namespace plm::jinja {
namespace {

// The filtered value as text, whatever it is.
MarkedText self(const Call& call) { return printed(call.rendering, call.subject); }

// The filtered value, which must be a text already.
const MarkedText& self_text(const Call& call) {
  call.subject.check_defined();
  if (call.subject.text() == nullptr) refuse("{} filters a str, found a {}", call.name, call.subject.type_name());
  return *call.subject.text();
}

using Mapping = MarkedText (*)(const MarkedText&);
template <Mapping mapping>
Value map_text(Call& call) {
  return call.rendering.made(mapping(self(call)));
}

Value title(Call& call) { return call.rendering.made(titled(self(call), Words::after_separators)); }

Value string(Call& call) { return call.subject.text() != nullptr ? call.subject : call.rendering.made(self(call)); }

Value trim(Call& call) {
  std::optional<std::string_view> characters;
  if (call.given_some(0) != nullptr) characters = call.text(0).text();
  return call.rendering.made(stripped(self(call), Side::both, characters));
}

Value replace(Call& call) {
  const MarkedText old = printed(call.rendering, call[0]);
  const MarkedText by = printed(call.rendering, call[1]);
  const std::int64_t count = call.given_some(2) == nullptr ? -1 : call.integer(2);
  return call.rendering.made(replaced(call.rendering, self(call), old, by, count));
}

Value center(Call& call) {
  return call.rendering.made(padded(call.rendering, self(call), call.integer(0, 80), Side::both));
}

Value format_filter(Call& call) {
  const MarkedText pattern = self(call);
  if (call.rest.keywords.empty()) {
    return format_percent(call.rendering, pattern, make_tuple(std::move(call.rest.positional)));
  }
  if (!call.rest.positional.empty()) refuse("format takes positional or named arguments, not both");
  auto named = std::make_shared<Dictionary>();
  for (auto& [name, value] : call.rest.keywords) named->set(Value::input(name), std::move(value));
  return format_percent(call.rendering, pattern, Value(DictionaryPointer(std::move(named))));
}

Value indent(Call& call) {
  MarkedText indention;
  if (call.given(0) != nullptr && call[0].text() != nullptr) {
    indention = call.text(0);
  } else {
    const std::int64_t width = std::max<std::int64_t>(call.integer(0, 4), 0);
    call.rendering.spend_text(static_cast<std::size_t>(width));
    indention = MarkedText(std::string(static_cast<std::size_t>(width), ' '), Origin::input);
  }
  const bool also_blank = call.flag(2, false);
  MarkedText text = self_text(call);
  text.append("\n", Origin::input);
  MarkedText result;
  if (call.flag(1, false)) result.append(indention);
  bool is_first = true;
  for (const MarkedText& line : split_lines(text, false)) {
    if (!std::exchange(is_first, false)) {
      result.append("\n", Origin::input);
      if (also_blank || !line.empty()) {
        call.rendering.spend_text(indention.size());
        result.append(indention);
      }
    }
    result.append(line);
  }
  return call.rendering.made(std::move(result));
}

Value truncate(Call& call) {
  const MarkedText& text = self_text(call);
  call.rendering.spend_text(text.size());
  const MarkedText end = call.given(2) != nullptr ? call.text(2) : MarkedText("...", Origin::input);
  const std::int64_t length = call.integer(0, 255);
  const std::int64_t leeway = call.given_some(3) == nullptr ? 5 : call.integer(3);
  const auto end_length = static_cast<std::int64_t>(count_characters(end.text()));
  if (length < end_length) refuse("truncate to {} characters leaves no room for the end of {}", length, end_length);
  if (leeway < 0) refuse("the leeway of truncate cannot be negative");
  if (length > INT64_MAX - leeway || static_cast<std::int64_t>(count_characters(text.text())) <= length + leeway) {
    return call.subject;
  }
  MarkedText cut = text.slice(0, byte_of_character(text.text(), static_cast<std::size_t>(length - end_length)));
  if (!call.flag(1, false)) cut = split_last(cut, " ", 1).front();
  cut.append(end);
  return call.rendering.made(std::move(cut));
}

// A piece of a line that textwrap does not break unless it must: a run of whitespace, or a word, which also ends behind
// a hyphen between letters.
struct WrapPiece {
  std::size_t begin, end;  // bytes
  std::size_t characters;
  bool is_space;
};

std::vector<WrapPiece> wrap_pieces(std::string_view line, bool breaks_hyphens) {
  std::vector<WrapPiece> pieces;
  std::size_t letters = 0;
  for (const Character character : Characters(line)) {
    const bool space = is_space(character.code);
    const bool after_hyphen = breaks_hyphens && character.begin > 0 && line[character.begin - 1] == '-' &&
                              letters > 1 && is_alphabetic(character.code);
    if (pieces.empty() || space != pieces.back().is_space || after_hyphen) {
      pieces.push_back({character.begin, character.begin, 0, space});
      letters = 0;
    }
    if (is_alphabetic(character.code)) ++letters;
    pieces.back().end = character.end();
    ++pieces.back().characters;
  }
  return pieces;
}

// Lines of at most `width` characters made of one line, as textwrap.wrap does.
std::vector<MarkedText> wrapped(const MarkedText& line, std::size_t width, bool breaks_words, bool breaks_hyphens) {
  std::vector<WrapPiece> pieces = wrap_pieces(line.text(), breaks_hyphens);
  std::reverse(pieces.begin(), pieces.end());
  std::vector<MarkedText> lines;
  while (!pieces.empty()) {
    if (!lines.empty() && pieces.back().is_space) pieces.pop_back();
    std::vector<WrapPiece> chosen;
    std::size_t length = 0;
    while (!pieces.empty() && length + pieces.back().characters <= width) {
      length += pieces.back().characters;
      chosen.push_back(pieces.back());
      pieces.pop_back();
    }
    if (!pieces.empty() && pieces.back().characters > width) {
      WrapPiece& long_piece = pieces.back();
      if (breaks_words) {
        const std::string_view rest = std::string_view(line.text()).substr(long_piece.begin);
        std::size_t size = byte_of_character(rest, width - length);
        // A hyphen among them is the better place to cut.
        const std::size_t hyphen = breaks_hyphens ? rest.substr(0, size).rfind('-') : std::string_view::npos;
        const bool has_more =
            hyphen != std::string_view::npos && rest.substr(0, hyphen).find_first_not_of('-') != std::string_view::npos;
        if (has_more) size = hyphen + 1;
        const std::size_t room = count_characters(rest.substr(0, size));
        // Python lets an empty piece stand for the space that it would otherwise drop here.
        chosen.push_back({long_piece.begin, long_piece.begin + size, room, /*is_space=*/room == 0});
        long_piece.begin += size;
        long_piece.characters -= room;
      } else if (chosen.empty()) {
        chosen.push_back(long_piece);
        pieces.pop_back();
      }
    }
    if (!chosen.empty() && chosen.back().is_space) chosen.pop_back();
    if (!chosen.empty()) lines.push_back(line.slice(chosen.front().begin, chosen.back().end));
  }
  return lines;
}

Value wordwrap(Call& call) {
  const std::int64_t width = call.integer(0, 79);
  if (width <= 0) refuse("wordwrap needs a width above 0, found {}", width);
  const MarkedText& text = self_text(call);
  call.rendering.spend_text(text.size());
  const MarkedText separator = call.given_some(2) != nullptr ? call.text(2) : MarkedText("\n", Origin::input);
  const bool breaks_words = call.flag(1, true), breaks_hyphens = call.flag(3, true);
  MarkedText result;
  const auto add = [&](const MarkedText& part, bool is_first) {
    call.rendering.spend_text(separator.size());
    if (!is_first) result.append(separator);
    result.append(part);
  };
  bool is_first_line = true;
  for (const MarkedText& line : split_lines(text, false)) {
    const auto parts = wrapped(line, static_cast<std::size_t>(width), breaks_words, breaks_hyphens);
    if (parts.empty()) add({}, is_first_line);
    for (std::size_t i = 0; i < parts.size(); ++i) add(parts[i], is_first_line && i == 0);
    is_first_line = false;
  }
  return call.rendering.made(std::move(result));
}

Value wordcount(Call& call) {
  std::size_t words = 0;
  bool in_word = false;
  const MarkedText text = self(call);
  call.rendering.spend_text(text.size());
  for (const Character character : Characters(text.text())) {
    const bool is_part = is_word(character.code);
    if (is_part && !in_word) ++words;
    in_word = is_part;
  }
  return Value(words);
}

// Without what stands between < and > and between <!-- and -->, whitespace made single.
Value striptags(Call& call) {
  const MarkedText text = self(call);
  call.rendering.spend_text(2 * text.size());
  const std::string_view bytes = text.text();
  MarkedText bare;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t open = std::min(bytes.find('<', at), bytes.size());
    bare.append(text, at, open);
    if (open == bytes.size()) break;
    const bool is_comment = bytes.substr(open, 4) == "<!--";
    const std::size_t close = is_comment ? bytes.find("-->", open + 4) : bytes.find('>', open);
    if (close == std::string_view::npos) {
      bare.append(text, open, bytes.size());
      break;
    }
    at = close + (is_comment ? 3 : 1);
  }
  MarkedText result;
  for (const MarkedText& word : split_words(bare, -1)) {
    if (!result.empty()) result.append(" ", Origin::input);
    result.append(word);
  }
  return call.rendering.made(std::move(result));
}

// Bytes that are not letters, digits or of `safe` as %XX.
std::string percent_encoded(std::string_view text, bool keeps_slash) {
  constexpr std::string_view kSafe = "-._~";
  std::string result;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          kSafe.find(c) != std::string_view::npos || (keeps_slash && c == '/');
    if (is_plain) {
      result.push_back(c);
    } else if (!keeps_slash && c == ' ') {
      result.push_back('+');
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

Value urlencode(Call& call) {
  if (call.subject.text() != nullptr || !is_iterable(call.subject) || call.subject.is_undefined()) {
    return call.rendering.made({percent_encoded(self(call).text(), true), Origin::input});
  }
  std::string query;
  const auto add = [&](const Value& key, const Value& value) {
    if (!query.empty()) query.push_back('&');
    query += percent_encoded(printed(call.rendering, key).text(), false) + "=" +
             percent_encoded(printed(call.rendering, value).text(), false);
  };
  if (const Dictionary* dictionary = call.subject.dictionary()) {
    for (const auto& [key, value] : dictionary->entries()) add(key, value);
  } else {
    for (const Value& pair : items_of(call.rendering, call.subject)) {
      const std::vector<Value> parts = items_of(call.rendering, pair);
      if (parts.size() != 2) refuse("urlencode needs pairs, found {} items", parts.size());
      add(parts[0], parts[1]);
    }
  }
  return call.rendering.made({std::move(query), Origin::input});
}

Value xmlattr(Call& call) {
  const Dictionary* dictionary = call.subject.dictionary();
  if (dictionary == nullptr) refuse("xmlattr filters a dict, found a {}", call.subject.type_name());
  MarkedText result;
  for (const auto& [key, value] : dictionary->entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    const MarkedText name = printed(call.rendering, key);
    if (name.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      refuse("xmlattr: an attribute's name has a space, '/', '>' or '='");
    }
    if (!result.empty() || call.flag(0, true)) result.append(" ", Origin::input);
    result.append(escaped_for_html(name));
    result.append("=\"", Origin::input);
    result.append(escaped_for_html(printed(call.rendering, value)));
    result.append("\"", Origin::input);
  }
  return call.rendering.made(std::move(result));
}

constexpr std::array<Builtin, 20> kFilters = {{
    {"capitalize", "", map_text<capitalized>},
    {"center", "width?", center},
    {"e", "", map_text<escaped_for_html>},
    {"escape", "", map_text<escaped_for_html>},
    {"forceescape", "", map_text<escaped_for_html>},
    {"format", "*", format_filter},
    {"indent", "width? first? blank?", indent},
    {"lower", "", map_text<lower>},
    {"replace", "old new count?", replace},
    {"safe", "", string},
    {"string", "", string},
    {"striptags", "", striptags},
    {"title", "", title},
    {"trim", "chars?", trim},
    {"truncate", "length? killwords? end? leeway?", truncate},
    {"upper", "", map_text<upper>},
    {"urlencode", "", urlencode},
    {"wordcount", "", wordcount},
    {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", wordwrap},
    {"xmlattr", "autospace?", xmlattr},
}};

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace plm::jinja
