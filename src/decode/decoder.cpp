#include "decode/decoder.h"

#include "base/settings.h"

namespace plm {

const DecoderDefinition* find_decoder(std::string_view name) {
  for (const DecoderDefinition* decoder : decoders()) {
    if (is_named(name, decoder->head.name, decoder->head.aliases)) return decoder;
  }
  return nullptr;
}

}  // namespace plm
