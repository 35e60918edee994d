// Any text as tokenizer.json, and after a zero byte as tokenizer_config.json and as a text: refused, or a tokeniser
// whose ids are all in its vocabulary and whose stream of text is valid UTF-8.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace {

std::string_view take(std::string_view& rest) {
  const std::string_view taken = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), taken.size() + 1));
  return taken;
}

void encode(const plm::Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.add_special = special, .parse_special = special});
    if (!ids.has_value()) continue;
    plm::Detokenizer stream(tokenizer.vocabulary());
    for (const plm::TokenId id : *ids) {
      PLM_CHECK(tokenizer.vocabulary().contains(id));
      PLM_CHECK(plm::utf8_is_valid(stream.push(id)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view json = take(rest), config = take(rest);
  const auto tokenizer = plm::Tokenizer::load_huggingface(json, config, "f");
  if (!tokenizer.has_value()) {
    PLM_CHECK(tokenizer.error().kind == plm::ErrorKind::bad_input);
    return 0;
  }
  encode(**tokenizer, rest);
  encode(**tokenizer, "Hello  w\xC3\xB6rld, it's 1234!\n\n\t<s>\xF0\x9F\x98\x80\xE6\xBC\xA2 a\xCC\x81");
  encode(**tokenizer, "ill-formed \xE6\xAD \xFF");
  return 0;
}
