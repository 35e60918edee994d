#include "text/jinja/text_operations.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "text/jinja/failure.h"
#include "text/jinja/rendering.h"

namespace plm::jinja {
namespace {

Origin origin_of(const MarkedText& text, const Character& character) {
  return text.is_from_template(character.begin, character.end()) ? Origin::template_text : Origin::input;
}

bool is_line_break(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

// The characters of a text with their place, for walking from the end.
std::vector<Character> all_characters(std::string_view text) {
  std::vector<Character> characters;
  for (const Character character : Characters(text)) characters.push_back(character);
  return characters;
}

bool is_cased(char32_t code) { return is_upper(code) || is_lower(code); }

// A capital sigma at the end of a word becomes the final small one.
bool is_final_sigma(std::string_view text, const Character& character) {
  if (character.code != 0x3A3) return false;
  bool follows_letter = false;
  std::size_t before = character.begin;
  if (before > 0) {
    do {
      --before;
    } while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0U) == 0x80U);
    follows_letter = is_cased(character_at(text, before).code);
  }
  const bool precedes_letter = character.end() < text.size() && is_cased(character_at(text, character.end()).code);
  return follows_letter && !precedes_letter;
}

}  // namespace

MarkedText mapped(const MarkedText& text, const CharacterWriter& write) {
  MarkedText result;
  result.reserve(text.size());
  std::string piece;
  for (const Character character : Characters(text.text())) {
    piece.clear();
    write(piece, character);
    result.append(piece, origin_of(text, character));
  }
  return result;
}

MarkedText upper(const MarkedText& text) {
  return mapped(text, [](std::string& to, const Character& character) { append_upper(to, character.code); });
}

MarkedText lower(const MarkedText& text) {
  return mapped(text, [&](std::string& to, const Character& character) {
    if (is_final_sigma(text.text(), character)) {
      append_utf8(to, 0x3C2);
    } else {
      append_lower(to, character.code);
    }
  });
}

MarkedText capitalized(const MarkedText& text) {
  return mapped(text, [](std::string& to, const Character& character) {
    character.begin == 0 ? append_title(to, character.code) : append_lower(to, character.code);
  });
}

MarkedText titled(const MarkedText& text, Words words) {
  constexpr std::u32string_view kSeparators = U"-({[<";
  bool begins_word = true;
  return mapped(text, [&](std::string& to, const Character& character) {
    const char32_t code = character.code;
    if (words == Words::after_separators) {
      begins_word ? append_upper(to, code) : append_lower(to, code);
      begins_word = is_space(code) || kSeparators.find(code) != std::u32string_view::npos;
    } else {
      begins_word ? append_title(to, code) : append_lower(to, code);
      begins_word = !is_cased(code);
    }
  });
}

MarkedText stripped(const MarkedText& text, Side side, const std::optional<std::string_view>& characters) {
  std::vector<char32_t> wanted;
  if (characters) {
    for (const Character character : Characters(*characters)) wanted.push_back(character.code);
    std::sort(wanted.begin(), wanted.end());
  }
  const auto goes = [&](char32_t code) {
    return characters ? std::binary_search(wanted.begin(), wanted.end(), code) : is_space(code);
  };
  const std::string& bytes = text.text();
  std::size_t begin = 0, end = bytes.size();
  while (side != Side::right && begin < end) {
    const Character character = character_at(bytes, begin);
    if (!goes(character.code)) break;
    begin = character.end();
  }
  while (side != Side::left && begin < end) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(bytes[last]) & 0xC0U) == 0x80U) --last;
    const Character character = character_at(bytes, last);
    if (character.end() != end || !goes(character.code)) break;
    end = last;
  }
  return text.slice(begin, end);
}

MarkedText replaced(Rendering& rendering, const MarkedText& text, const MarkedText& old, const MarkedText& by,
                    std::int64_t count) {
  std::size_t left = count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(count);
  MarkedText result;
  std::size_t at = 0;
  rendering.spend_text(text.size() + old.size());
  const auto put = [&] {
    rendering.spend_text(by.size());
    rendering.spend_steps(1);
    result.append(by);
    --left;
  };
  if (old.empty()) {  // before each character and at the end
    for (const Character character : Characters(text.text())) {
      if (left > 0) put();
      result.append(text, character.begin, character.end());
    }
    if (left > 0) put();
    return result;
  }
  while (left > 0) {
    const std::size_t found = find_text(text.text(), old.text(), at);
    if (found == std::string_view::npos) break;
    result.append(text, at, found);
    put();
    at = found + old.size();
  }
  result.append(text, at, text.size());
  return result;
}

std::vector<MarkedText> split(const MarkedText& text, std::string_view separator, std::int64_t count) {
  std::vector<MarkedText> pieces;
  std::size_t at = 0;
  while (count != 0) {
    const std::size_t found = find_text(text.text(), separator, at);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.slice(at, found));
    at = found + separator.size();
    --count;
  }
  pieces.push_back(text.slice(at, text.size()));
  return pieces;
}

std::vector<MarkedText> split_last(const MarkedText& text, std::string_view separator, std::int64_t count) {
  const std::string backwards(text.text().rbegin(), text.text().rend());
  const std::string separator_backwards(separator.rbegin(), separator.rend());
  std::vector<MarkedText> pieces;
  std::size_t at = 0;  // in `backwards`
  while (count != 0) {
    const std::size_t found = find_text(backwards, separator_backwards, at);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.slice(text.size() - found, text.size() - at));
    at = found + separator.size();
    --count;
  }
  pieces.push_back(text.slice(0, text.size() - at));
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<MarkedText> split_words(const MarkedText& text, std::int64_t count) {
  std::vector<MarkedText> pieces;
  const std::string& bytes = text.text();
  std::size_t at = 0;
  const auto skip = [&](bool spaces) {
    while (at < bytes.size()) {
      const Character character = character_at(bytes, at);
      if (is_space(character.code) != spaces) break;
      at = character.end();
    }
  };
  skip(true);
  while (at < bytes.size()) {
    const std::size_t begin = at;
    if (count-- == 0) {
      pieces.push_back(text.slice(begin, bytes.size()));
      break;
    }
    skip(false);
    pieces.push_back(text.slice(begin, at));
    skip(true);
  }
  return pieces;
}

std::vector<MarkedText> split_last_words(const MarkedText& text, std::int64_t count) {
  if (count < 0) return split_words(text, count);
  std::vector<MarkedText> pieces;
  const std::vector<Character> characters = all_characters(text.text());
  std::size_t end = characters.size();
  const auto skip = [&](bool spaces) {
    while (end > 0 && is_space(characters[end - 1].code) == spaces) --end;
  };
  skip(true);
  while (end > 0) {
    const std::size_t last = characters[end - 1].end();
    if (count-- == 0) {
      pieces.push_back(text.slice(0, last));
      break;
    }
    skip(false);
    pieces.push_back(text.slice(end == 0 ? 0 : characters[end - 1].end(), last));
    skip(true);
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<MarkedText> split_lines(const MarkedText& text, bool keeps_ends) {
  std::vector<MarkedText> lines;
  const std::string& bytes = text.text();
  std::size_t begin = 0, at = 0;
  while (at < bytes.size()) {
    const Character character = character_at(bytes, at);
    at = character.end();
    if (!is_line_break(character.code)) continue;
    if (character.code == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.slice(begin, keeps_ends ? at : character.begin));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.slice(begin, bytes.size()));
  return lines;
}

MarkedText padded(Rendering& rendering, const MarkedText& text, std::int64_t width, Side text_side,
                  std::string_view fill) {
  const auto length = static_cast<std::int64_t>(count_characters(text.text()));
  rendering.spend_text(text.size());
  if (width <= length) return text;
  const auto total = static_cast<std::size_t>(width - length);
  rendering.spend_text(total);
  rendering.spend_text(total * (fill.size() - 1));
  std::size_t before = 0;
  if (text_side == Side::right) before = total;
  // Python puts the odd one to the left when the width is odd.
  if (text_side == Side::both) before = total / 2 + (total & static_cast<std::size_t>(width) & 1);
  MarkedText result;
  for (std::size_t i = 0; i < before; ++i) result.append(fill, Origin::input);
  result.append(text);
  for (std::size_t i = before; i < total; ++i) result.append(fill, Origin::input);
  return result;
}

MarkedText escaped_for_html(const MarkedText& text) {
  return mapped(text, [&](std::string& to, const Character& character) {
    switch (character.code) {
      case '&': to += "&amp;"; break;
      case '<': to += "&lt;"; break;
      case '>': to += "&gt;"; break;
      case '\'': to += "&#39;"; break;
      case '"': to += "&#34;"; break;
      default: to += std::string_view(text.text()).substr(character.begin, character.length);
    }
  });
}

}  // namespace plm::jinja
