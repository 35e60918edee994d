// How vocabularies write bytes in the texts of their tokens, in both directions.
//
// - byte_alphabet (byte-level BPE): each byte is one printable character. The 188 bytes that print in Latin-1 stand for
//   themselves, the others are U+0100, U+0101 ... in order; so a space is "Ġ" and a newline "Ċ". Source: Radford et
//   al., "Language models are unsupervised multitask learners" (2019), section 2.2, and the encoder published with it.
// - space_marks (SentencePiece): text as it is, but "▁" (U+2581) for a space; single bytes are tokens of their own,
//   "<0x0A>". Source: Kudo and Richardson, "SentencePiece" (2018).
// - plain: text as it is.
// Tested by tests/text/test_token_spelling.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plm {

/// "▁", which stands for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

enum class Spelling { byte_alphabet, space_marks, plain };

/// Appends the byte alphabet's characters for `bytes`.
void append_in_byte_alphabet(std::string_view bytes, std::string& out);

/// Appends the bytes that the text of a normal token stands for. Characters that are not in the alphabet stay as they
/// are.
void append_spelled_bytes(Spelling spelling, std::string_view text, std::string& out);

/// The byte that "<0xNN>" names: exactly two hexadecimal digits of either case; nullopt for any other text.
[[nodiscard]] std::optional<std::uint8_t> byte_of_hex_token(std::string_view text);

}  // namespace plm
