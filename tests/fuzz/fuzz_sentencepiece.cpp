// Any bytes as tokenizer.model: refused as a bad input, or a vocabulary that encodes texts to its own ids.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "format/gguf_writer.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plm::GgufWriter writer;
  writer.add_string(plm::kSentencePieceKey, {reinterpret_cast<const char*>(data), size});
  const auto file = plm::vocabulary_file(writer, "f");
  PLM_CHECK(file.has_value());
  const auto tokenizer = plm::Tokenizer::load(*file);
  if (!tokenizer.has_value()) {
    PLM_CHECK(tokenizer.error().kind == plm::ErrorKind::bad_input);
    return 0;
  }
  for (const std::string_view text : {"Hello  w\xC3\xB6rld \xE2\x96\x81 1234!\n\n\t<s>", "\xF0\x9F\x98\x80\xFF\xE6"}) {
    const auto ids = (*tokenizer)->encode(text);
    if (!ids.has_value()) continue;
    for (const plm::TokenId id : *ids) PLM_CHECK((*tokenizer)->vocabulary().contains(id));
  }
  return 0;
}
