// The pipeline that a GGUF file implies by its kind of tokeniser and a few keys.
//
// Source: the GGUF specification and, for what it leaves open, the makers' own tokenisers, whose ids the oracle holds.
// Adding a kind: a PieceModel and its case in gguf_pipeline.cpp. Tested by tests/text/test_gguf_pipeline.cpp and
// test_tokenizer.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/text_pipeline.h"
#include "text/vocabulary.h"

namespace plm {

/// `vocabulary` must outlive the result; null for a kind whose encoder is not written. What is odd but usable is
/// appended to `warnings`. Errors (bad_input) name the file and the key.
Result<std::unique_ptr<const TextPipeline>> load_gguf_pipeline(const Vocabulary& vocabulary,
                                                               std::vector<std::string>& warnings);

}  // namespace plm
