// Any bytes as a safetensors file: opening refuses or succeeds, and the tensors of an accepted file cover its data.
#include <cstddef>
#include <cstdint>

#include "format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = plm::SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (!file) return 0;
  std::size_t covered = 0;
  for (const auto& [name, tensor] : (*file)->tensors()) {
    PLM_CHECK((*file)->find(name) == &tensor);
    covered += tensor.bytes.size();
  }
  PLM_CHECK(covered <= size);
  return 0;
}
