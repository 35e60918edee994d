#include "constraint/json_schema_text.h"

#include <array>
#include <utility>

#include "constraint/json_schema_value.h"

namespace plm {
namespace {

constexpr std::uint32_t kMostIndent = 20;
constexpr std::array<std::pair<char32_t, char>, 7> kShortEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {8, 'b'}, {12, 'f'}, {10, 'n'}, {13, 'r'}, {9, 't'}}};

ByteSet among(std::string_view bytes) {
  ByteSet set;
  for (const char byte : bytes) set.insert(static_cast<std::uint8_t>(byte));
  return set;
}

// A hexadecimal digit of `value` in either case.
ByteSet hex_digit(unsigned value) {
  ByteSet set;
  set.insert(static_cast<std::uint8_t>("0123456789abcdef"[value]));
  set.insert(static_cast<std::uint8_t>("0123456789ABCDEF"[value]));
  return set;
}

Regular spaces(RegularStore& store, JsonSpace space) {
  switch (space) {
    case JsonSpace::compact:
    case JsonSpace::spaced: return Regular::empty;
    case JsonSpace::any: return store.star(store.bytes(among(" \t\n\r")));
    case JsonSpace::bounded: break;
  }
  const Regular indent = store.repeat(store.bytes(among(" \t")), 0, kMostIndent);
  const Regular line = store.concatenate({store.literal("\n"), indent});
  return store.optional(store.alternate({store.literal(" "), line}));
}

}  // namespace

JsonText::JsonText(GrammarBuilder& builder, JsonSpace space) : store_(builder.store()), space_(spaces(store_, space)) {
  const Regular after = space == JsonSpace::spaced ? store_.literal(" ") : space_;
  comma_ = store_.concatenate({space_, store_.literal(","), after});
  colon_ = store_.concatenate({space_, store_.literal(":"), after});
  any_canonical_ = canonical(CodePoints::all());
}

Regular JsonText::open(char bracket) { return store_.concatenate({store_.literal(std::string(1, bracket)), space_}); }

Regular JsonText::close(char bracket) { return store_.concatenate({space_, store_.literal(std::string(1, bracket))}); }

Regular JsonText::hollow(std::string_view brackets) {
  return store_.concatenate({store_.literal(brackets.substr(0, 1)), space_, store_.literal(brackets.substr(1))});
}

Regular JsonText::canonical(const CodePoints& set) {
  CodePoints escaped{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  CodePoints without = set.complement();
  without.add(escaped);
  std::vector<Regular> spellings = {store_.characters(without.complement())};
  for (const auto& [code, letter] : kShortEscapes) {
    if (set.contains(code)) spellings.push_back(store_.literal(std::string{'\\', letter}));
  }
  for (char32_t code = 0; code < 0x20; ++code) {
    const bool is_short = code == 8 || code == 9 || code == 10 || code == 12 || code == 13;
    if (is_short || !set.contains(code)) continue;
    spellings.push_back(store_.concatenate(
        {store_.literal("\\u00"), store_.bytes(hex_digit(code >> 4U)), store_.bytes(hex_digit(code & 15U))}));
  }
  return store_.alternate(spellings);
}

Regular JsonText::any_free() {
  if (any_free_ != Regular::nothing) return any_free_;
  const Regular raw = store_.characters(CodePoints{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}.complement());
  const auto hex = [&](std::string_view digits) { return store_.bytes(among(digits)); };
  const Regular digit = hex("0123456789abcdefABCDEF");
  const Regular escape = store_.literal("\\u");
  // \u0000 to \uFFFF without the surrogates, and surrogates in pairs.
  const Regular plain = store_.alternate({
      store_.concatenate({hex("0123456789abcefABCEF"), digit, digit, digit}),
      store_.concatenate({hex("dD"), hex("01234567"), digit, digit}),
  });
  const Regular pair =
      store_.concatenate({hex("dD"), hex("89abAB"), digit, digit, escape, hex("dD"), hex("cdefCDEF"), digit, digit});
  const Regular letter = store_.concatenate({store_.literal("\\"), store_.bytes(among("\"\\/bfnrt"))});
  any_free_ = store_.alternate({raw, letter, store_.concatenate({escape, store_.alternate({plain, pair})})});
  return any_free_;
}

Regular JsonText::quoted(Regular inner) {
  return store_.concatenate({store_.literal("\""), inner, store_.literal("\"")});
}

Regular JsonText::canonical_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> spelled;
  spelled.reserve(texts.size());
  for (const std::string& text : texts) spelled.push_back(canonical_text(text));
  return store_.literals(std::move(spelled));
}

std::string canonical_text(std::string_view text) {
  const std::string quoted = json_quoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace plm
