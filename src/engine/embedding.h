// Sentence embeddings: a vector for each text, whose angles to others tell how alike they are (Reimers and Gurevych,
// arXiv 1908.10084). Text, tokens, hidden states, pooling, dense layers, length 1.
// Tested by tests/engine/test_embedding.cpp and, with MiniLM, tests/engine/test_minilm.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/hidden_rows.h"

namespace plm {

struct EmbeddingOptions {
  std::optional<Pooling> pooling = {};     ///< mean, cls or last; not given: the model's
  std::optional<bool> normalizes = {};     ///< length 1; not given: as the model says
  std::optional<std::string> prefix = {};  ///< in front of every text; not given: the model's standard prompt
  std::size_t dimensions = 0;              ///< the first so many numbers, brought to length 1 again (Kusupati et al.,
                                           ///< arXiv 2205.13147); 0: all
  bool cuts = true;                        ///< texts that are too long, instead of refusing them
  std::size_t most_tokens = 0;             ///< of a text; 0: as the model says, at most its context
};

struct Embedding {
  std::vector<float> values;
  std::size_t tokens = 0;
  bool is_cut = false;  ///< the text was longer than the model reads
};

/// One for each text, in their order. Errors (usage): a text that is empty to a model that adds no token, dimensions
/// beyond the model's, a long text that is not to be cut; interrupted.
[[nodiscard]] Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::string> texts,
                                                   const EmbeddingOptions& options = {},
                                                   const ReadingHooks& hooks = {});

/// Tokens of a text that the model reads at most: what it was made for, at most its context.
[[nodiscard]] std::size_t most_text_tokens(const Engine& engine);

/// Cosine of the angle between two vectors; 0 where one has no length.
[[nodiscard]] double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace plm
