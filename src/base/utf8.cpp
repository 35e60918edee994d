#include "base/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace plm {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Lead {
  std::size_t length;      // bytes of the whole character, 0 for an impossible lead byte
  std::uint8_t low, high;  // allowed range of the second byte (Unicode table 3-7)
};

Lead classify(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Number of bytes at the start that agree with some well-formed character, and that character's length.
struct Prefix {
  std::size_t agreeing, length;
};

Prefix longest_prefix(std::string_view text) {
  if (text.empty()) return {0, 0};
  const Lead lead = classify(static_cast<std::uint8_t>(text[0]));
  if (lead.length == 0) return {0, 0};
  std::size_t agreeing = 1;
  while (agreeing < lead.length && agreeing < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[agreeing]);
    const std::uint8_t low = agreeing == 1 ? lead.low : 0x80;
    const std::uint8_t high = agreeing == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) break;
    ++agreeing;
  }
  return {agreeing, lead.length};
}

}  // namespace

std::size_t utf8_character_length(std::string_view text) {
  const Prefix prefix = longest_prefix(text);
  return prefix.agreeing == prefix.length ? prefix.length : 0;
}

bool utf8_is_incomplete(std::string_view text) {
  const Prefix prefix = longest_prefix(text);
  return prefix.agreeing > 0 && prefix.agreeing < prefix.length && prefix.agreeing == text.size();
}

bool utf8_is_valid(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_sanitized(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Prefix prefix = longest_prefix(text);
    const std::size_t used = prefix.agreeing > 0 ? prefix.agreeing : 1;
    if (prefix.length > 0 && prefix.agreeing == prefix.length) {
      clean.append(text.substr(0, used));
    } else {
      clean.append(kReplacement);
    }
    text.remove_prefix(used);
  }
  return clean;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= limit) return shown + "...";
    const std::size_t length = utf8_character_length(text);
    const auto byte = static_cast<std::uint8_t>(text[0]);
    // C1 controls (U+0080..U+009F) are C2 80..C2 9F in UTF-8 and steer terminals like ESC does.
    const bool is_c1 = length == 2 && byte == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0;
    if (length > 1 && !is_c1) {
      shown.append(text.substr(0, length));
    } else if (is_c1) {
      shown += fmt::format("\\u{:04x}", static_cast<std::uint8_t>(text[1]));
    } else if (length == 1 && byte == '\n') {
      shown += "\\n";
    } else if (length == 1 && byte == '\t') {
      shown += "\\t";
    } else if (length == 1 && byte == '\r') {
      shown += "\\r";
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown.push_back(text[0]);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace plm
