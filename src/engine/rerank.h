// Reranking: how well documents answer a query, judged by a model that reads both together (Nogueira and Cho, arXiv
// 1901.04085). Two kinds: a cross-encoder, whose head gives the score of a pair, and a decoder that is asked and whose
// answer is read off the logits of "yes" and "no" (Qwen3-Reranker, arXiv 2506.05176).
// Tested by tests/engine/test_rerank.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/hidden_rows.h"

namespace plm {

struct RerankTask {
  std::string_view query;
  std::span<const std::string> documents;
};

struct RerankOptions {
  std::size_t most_tokens = 0;  ///< of query and document together; 0: as the model says
  bool cuts = true;             ///< pairs that are too long, instead of refusing them

  // Of decoders, which read the pair in a text: {instruction}, {query} and {document} stand for theirs.
  std::string form = {};  ///< empty: the one that the file brings, or Qwen3-Reranker's
  std::string instruction = "Given a web search query, retrieve relevant passages that answer the query";
  std::string yes = "yes", no = "no";  ///< the two answers of a model without a head, a token each
};

struct Ranking {
  std::size_t document = 0;   ///< index
  double score = 0;           ///< from 0 to 1
  std::vector<float> logits;  ///< what it is made from: the head's numbers, or those of yes and no
  std::size_t tokens = 0;
  bool is_cut = false;  ///< the pair was longer than the model reads
};

/// One for each document, best first; equal scores in the order of the documents. Errors (usage): an encoder without a
/// head, a head of more than two numbers, an answer that is no token, a form without {query} and {document};
/// interrupted.
[[nodiscard]] Result<std::vector<Ranking>> rerank(Engine& engine, const RerankTask& task,
                                                  const RerankOptions& options = {}, const ReadingHooks& hooks = {});

/// From 0 to 1: one number through the logistic function; of two, the share in their softmax of the one whose label is
/// "yes", else of the second. `labels` may be empty.
[[nodiscard]] double relevance(std::span<const float> logits, std::span<const std::string> labels = {});

}  // namespace plm
