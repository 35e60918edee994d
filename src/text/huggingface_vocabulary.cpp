#include "text/huggingface_vocabulary.h"

namespace plm {

Result<void> add_ggml_vocabulary(const GgufFile& file, GgufWriter&, std::vector<std::string>& warnings) {
  warnings.push_back(file.path() + ": stub");
  return {};
}
bool has_huggingface_tokenizer(const GgufFile& file) { return file.find("tokenizer.huggingface.json") != nullptr; }

}  // namespace plm
