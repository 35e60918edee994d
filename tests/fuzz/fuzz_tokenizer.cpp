// A fixed small vocabulary and any text: encoding refuses or gives ids of the vocabulary that spell the text again, and
// a stream of them, cut anywhere, is valid UTF-8. The first byte chooses the options.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace {

const plm::Tokenizer& tokenizer() {
  static const std::shared_ptr<const plm::Tokenizer> loaded = [] {
    const auto file = plm::GgufFile::open(PLM_MODELS "/twin-ar.gguf");
    PLM_CHECK(file.has_value());
    auto result = plm::Tokenizer::load(*file);
    PLM_CHECK(result.has_value());
    return *result;
  }();
  return *loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const plm::EncodeOptions options{.add_special = (data[0] & 1) != 0, .parse_special = (data[0] & 2) != 0};
  const auto ids = tokenizer().encode(text, options);
  if (!ids.has_value()) return 0;
  plm::Detokenizer stream(tokenizer().vocabulary());
  std::string joined;
  for (const plm::TokenId id : *ids) {
    PLM_CHECK(tokenizer().vocabulary().contains(id));
    const std::string piece = stream.push(id);
    PLM_CHECK(plm::utf8_is_valid(piece));
    joined += piece;
  }
  joined += stream.finish();
  if (!options.parse_special) PLM_CHECK(joined == plm::utf8_sanitized(text));
  return 0;
}
