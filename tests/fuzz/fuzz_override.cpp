// Any lines as settings over a model file's metadata: refused by name, or the value that was asked for stands there.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto model = plm::GgufFile::open(PLM_MODELS "/twin-ar.gguf").value();
  std::vector<std::string> settings(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      settings.emplace_back();
    } else {
      settings.back().push_back(static_cast<char>(data[i]));
    }
  }
  const auto changed = plm::GgufFile::overridden(model, settings);
  if (!changed.has_value()) {
    PLM_CHECK(changed.error().kind == plm::ErrorKind::usage);
    return 0;
  }
  for (const auto& set : (*changed)->overrides()) {
    const plm::MetaValue* value = (*changed)->find(set->key);
    PLM_CHECK(value != nullptr && value->type() == set->type);
    PLM_CHECK(value->described().find('\n') == std::string::npos);
  }
  return 0;
}
