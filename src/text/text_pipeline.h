// What a tokeniser does with ordinary text, in order: normalise, cut into pieces, make tokens of each piece.
//
// Special and other added tokens are Tokenizer's business; a pipeline never sees them. Files in GGUF imply the parts
// (gguf_pipeline.h), tokenizer.json spells them out (huggingface_pipeline.h). Immutable, so threads may share it.
// Tested by tests/text/test_tokenizer.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/normalizer.h"
#include "text/piece_cache.h"
#include "text/piece_model.h"
#include "text/pre_tokenizer.h"

namespace plm {

class TextPipeline {
 public:
  struct Parts {
    Normalizer normalizer{};
    PreTokenizer pre_tokenizer{};
    std::unique_ptr<PieceModel> model;
    bool takes_any_bytes = false;  ///< every part can deal with bytes that are no UTF-8
  };

  explicit TextPipeline(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const PieceModel& model() const { return *parts_.model; }
  [[nodiscard]] bool takes_any_bytes() const { return parts_.takes_any_bytes; }

  /// What the pieces are cut from. Errors (failed): an expression exceeds its limits.
  [[nodiscard]] Result<std::string> normalize(std::string_view text) const { return parts_.normalizer.apply(text); }
  [[nodiscard]] bool normalizes() const { return !parts_.normalizer.is_identity(); }

  /// Appends the ids of normalised text; `begins_text`: it stands at the very beginning of the user's text.
  /// Errors (failed): an expression exceeds its limits.
  Result<void> encode(std::string_view normal, bool begins_text, PieceCache& cache, std::vector<TokenId>& ids) const;

 private:
  Parts parts_;
};

}  // namespace plm
