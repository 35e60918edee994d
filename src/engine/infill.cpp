#include "engine/infill.h"

#include <algorithm>
#include <charconv>

#include "base/philox.h"
#include "base/utf8.h"

namespace plm {
namespace {

constexpr std::string_view kOpening = "{{hole", kClosing = "}}";

// The number between ":" and "}}".
Result<std::size_t> length_of(std::string_view hole, std::optional<std::size_t> standard, const InfillLimits& limits) {
  std::string_view digits = hole.substr(kOpening.size());
  digits.remove_suffix(kClosing.size());
  if (digits.empty() && standard.has_value()) return *standard;
  if (digits.empty()) {
    return fail(ErrorKind::usage,
                "template: {} does not say how long the hole is; write {{{{hole:12}}}} or give --length", hole);
  }
  std::size_t length = 0;
  const auto read = std::from_chars(digits.data() + 1, digits.data() + digits.size(), length);
  const bool is_number = digits.front() == ':' && read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  if (!is_number || length == 0 || length > limits.hole_length) {
    return fail(ErrorKind::usage, "template: {}: a hole has a length from 1 to {} tokens, as in {{{{hole:12}}}}",
                printable(hole, 80), limits.hole_length);
  }
  return length;
}

}  // namespace

Result<HoleyText> parse_holes(std::string_view text, std::optional<std::size_t> hole_length,
                              const InfillLimits& limits) {
  HoleyText parsed;
  std::size_t begin = 0;
  while (true) {
    const std::size_t open = text.find(kOpening, begin);
    parsed.texts.emplace_back(text.substr(begin, open - begin));
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(kClosing, open);
    if (close == std::string_view::npos) {
      return fail(ErrorKind::usage, "template: {}: a hole that does not end; write {{{{hole:12}}}}",
                  printable(text.substr(open), 40));
    }
    begin = close + kClosing.size();
    PLM_TRY_ASSIGN(const std::size_t length, length_of(text.substr(open, begin - open), hole_length, limits));
    parsed.lengths.push_back(length);
    if (parsed.lengths.size() > limits.holes) {
      return fail(ErrorKind::usage, "template: more than {} holes", limits.holes);
    }
  }
  if (parsed.lengths.empty()) {
    return fail(ErrorKind::usage,
                "template: has no holes; write {{{{hole:12}}}} where up to 12 tokens are to be filled in");
  }
  return parsed;
}

std::string unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "ntr\\\"", kMeanings = "\n\t\r\\\"";
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known = text[i] == '\\' && i + 1 < text.size() ? kLetters.find(text[i + 1]) : kLetters.npos;
    plain += known == kLetters.npos ? text[i] : kMeanings[known];
    if (known != kLetters.npos) ++i;
  }
  return plain;
}

Result<std::vector<TokenId>> encode_continuation(const Tokenizer& tokenizer, std::string_view text,
                                                 const EncodeOptions& options) {
  if (text.empty()) return std::vector<TokenId>();
  const EncodeOptions bare{.add_special = false, .parse_special = options.parse_special};
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  if (!vocabulary.adds_space_prefix()) return tokenizer.encode(text, bare);
  // A space would be put in front: it goes in front of a line feed, and both are taken away again.
  PLM_TRY_ASSIGN(std::vector<TokenId> ids, tokenizer.encode("\n" + std::string(text), bare));
  std::string bytes;
  for (std::size_t i = 0; i < ids.size() && bytes.size() < 2; ++i) {
    vocabulary.append_bytes(ids[i], bytes);
    if (bytes != " \n" && bytes != "\n") continue;
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return ids;
  }
  return tokenizer.encode(text, bare);  // a vocabulary that joins line feeds with letters
}

Result<GivenAndHoles> encode_holes(const Tokenizer& tokenizer, const HoleyText& text, const EncodeOptions& options) {
  GivenAndHoles out;
  PLM_TRY_ASSIGN(out.given, tokenizer.encode(text.texts.front(), options));
  // What is put behind a text is not behind its first part.
  const bool has_end = tokenizer.vocabulary().adds_eos() || tokenizer.vocabulary().adds_separator();
  if (options.add_special && has_end && !out.given.empty()) out.given.pop_back();
  for (std::size_t i = 0; i < text.lengths.size(); ++i) {
    out.holes.push_back({out.given.size(), text.lengths[i]});
    PLM_TRY_ASSIGN(const std::vector<TokenId> more, encode_continuation(tokenizer, text.texts[i + 1], options));
    out.given.insert(out.given.end(), more.begin(), more.end());
  }
  return out;
}

bool fills_in_the_middle(const Vocabulary& vocabulary) {
  return std::ranges::all_of(std::array{SpecialToken::fim_prefix, SpecialToken::fim_suffix, SpecialToken::fim_middle},
                             [&](SpecialToken purpose) { return vocabulary.special(purpose).has_value(); });
}

Result<std::vector<TokenId>> fill_in_the_middle_prompt(const Tokenizer& tokenizer, std::string_view before,
                                                       std::string_view behind, const EncodeOptions& options) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<TokenId> prompt;
  if (options.add_special && vocabulary.adds_bos()) prompt.push_back(*vocabulary.special(SpecialToken::bos));
  const auto add = [&](SpecialToken purpose, std::string_view text) -> Result<void> {
    prompt.push_back(*vocabulary.special(purpose));
    PLM_TRY_ASSIGN(const std::vector<TokenId> ids, encode_continuation(tokenizer, text, options));
    prompt.insert(prompt.end(), ids.begin(), ids.end());
    return {};
  };
  PLM_TRY(add(SpecialToken::fim_prefix, before));
  PLM_TRY(add(SpecialToken::fim_suffix, behind));
  PLM_TRY(add(SpecialToken::fim_middle, ""));
  return prompt;
}

GivenAndHoles masked_at_random(std::span<const TokenId> tokens, std::size_t ahead, double strength,
                               std::uint64_t seed) {
  GivenAndHoles out;
  if (tokens.empty()) return out;
  const auto number = [&](std::size_t place) {
    return uniform({.seed = seed, .cell = static_cast<std::uint32_t>(place), .purpose = Purpose::gate});
  };
  std::vector<bool> is_masked;
  for (std::size_t i = 0; i < tokens.size(); ++i) is_masked.push_back(number(i) < strength);
  if (std::ranges::find(is_masked, true) == is_masked.end()) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < tokens.size(); ++i) first = number(i) < number(first) ? i : first;
    is_masked[first] = true;
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_masked[i]) {
      out.given.push_back(tokens[i]);
    } else if (i > 0 && is_masked[i - 1]) {
      ++out.holes.back().length;
    } else {
      out.holes.push_back({ahead + out.given.size(), 1});
    }
  }
  return out;
}

}  // namespace plm
