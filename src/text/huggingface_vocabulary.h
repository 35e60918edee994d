// A stub until the text room reads the files of a tokeniser.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"

namespace plm {

Result<void> add_ggml_vocabulary(const GgufFile& file, GgufWriter& out, std::vector<std::string>& warnings);
bool has_huggingface_tokenizer(const GgufFile& file);

}  // namespace plm
