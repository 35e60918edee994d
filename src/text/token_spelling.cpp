#include "text/token_spelling.h"

#include <array>

namespace plm {
namespace {

constexpr std::size_t kAlphabetEnd = 0x144;  // one past the alphabet's last character, U+0143

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<std::uint16_t, 256> kCharacterOfByte = [] {
  std::array<std::uint16_t, 256> characters{};
  std::uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? static_cast<std::uint16_t>(byte) : next++;
  }
  return characters;
}();

constexpr std::array<std::int16_t, kAlphabetEnd> kByteOfCharacter = [] {
  std::array<std::int16_t, kAlphabetEnd> bytes{};
  bytes.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kCharacterOfByte[byte]] = static_cast<std::int16_t>(byte);
  return bytes;
}();

void append_from_byte_alphabet(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    if (lead >= 0xC2 && lead <= 0xC5 && at + 1 < text.size()) {  // two bytes: U+0080 to U+017F
      const unsigned character = (lead & 0x1FU) << 6 | (static_cast<std::uint8_t>(text[at + 1]) & 0x3FU);
      if (character < kAlphabetEnd && kByteOfCharacter[character] >= 0) {
        out.push_back(static_cast<char>(kByteOfCharacter[character]));
        ++at;
        continue;
      }
    }
    out.push_back(text[at]);
  }
}

void append_with_spaces(std::string_view text, std::string& out) {
  while (true) {
    const std::size_t mark = text.find(kSpaceMark);
    out.append(text.substr(0, mark));
    if (mark == std::string_view::npos) return;
    out.push_back(' ');
    text.remove_prefix(mark + kSpaceMark.size());
  }
}

std::optional<std::uint8_t> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  return std::nullopt;
}

}  // namespace

void append_in_byte_alphabet(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) {
    const std::uint16_t character = kCharacterOfByte[static_cast<std::uint8_t>(byte)];
    if (character < 0x80) {
      out.push_back(static_cast<char>(character));
    } else {
      out.push_back(static_cast<char>(0xC0 | character >> 6));
      out.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    }
  }
}

void append_spelled_bytes(Spelling spelling, std::string_view text, std::string& out) {
  switch (spelling) {
    case Spelling::byte_alphabet: return append_from_byte_alphabet(text, out);
    case Spelling::space_marks: return append_with_spaces(text, out);
    case Spelling::plain: out.append(text);
  }
}

std::optional<std::uint8_t> byte_of_hex_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto high = hex_digit(text[3]);
  const auto low = hex_digit(text[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<std::uint8_t>(*high << 4 | *low);
}

}  // namespace plm
