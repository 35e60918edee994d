// Any bytes as a GGUF file: opening refuses or succeeds, and everything an accepted file offers can be read.
#include <cstddef>
#include <cstdint>

#include "format/gguf.h"

namespace {

// Touches every value and both ends of every tensor, so that a wrong bound shows.
void read_all(const plm::GgufFile& file) {
  for (const plm::MetaEntry& entry : file.metadata()) {
    PLM_CHECK(file.find(entry.key) == &entry.value);
    PLM_CHECK(!entry.value.described().empty());
    std::size_t characters = 0;
    if (const auto strings = entry.value.as_strings()) {
      for (const std::string_view text : *strings) characters += text.size();
    }
    PLM_CHECK(characters <= entry.value.bytes().size());
    if (const auto integers = entry.value.as_integers()) PLM_CHECK(integers->size() == entry.value.count());
    if (const auto reals = entry.value.as_reals()) PLM_CHECK(reals->size() == entry.value.count());
  }
  unsigned ends = 0;
  for (const plm::TensorEntry& tensor : file.tensors()) {
    PLM_CHECK(file.find_tensor(tensor.name) == &tensor);
    ends += static_cast<unsigned>(tensor.bytes.front()) + static_cast<unsigned>(tensor.bytes.back());
  }
  PLM_CHECK(ends <= 2 * 255 * file.tensors().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = plm::GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (file) read_all(**file);
  return 0;
}
