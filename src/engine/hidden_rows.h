// Hidden states of many texts, read in batches: what embeddings, rerankers and reward models begin with.
//
// Texts of an encoder go in whole and leave no state; those of a decoder are cut like any prompt. How texts are put
// together in batches changes no bit of a result (DESIGN section 4). Tested by tests/engine/test_hidden_rows.cpp.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/framed_text.h"

namespace plm {

/// The rows of a text whose hidden states, or logits, are wanted.
struct RowsWanted {
  const FramedText* text = nullptr;    ///< at least one token
  std::vector<std::uint32_t> rows;     ///< ascending
  YieldKind kind = YieldKind::hidden;  ///< or logits
};

/// How readings go on: told after each batch, and asked.
struct ReadingHooks {
  std::function<void(double fraction)> on_progress = {};
  std::function<bool()> interrupted = {};
};

/// Called once for every text, in no particular order: rows [wanted.rows.size(), hidden_size or vocab_size].
using RowsReader = std::function<Result<void>(std::size_t index, std::vector<std::vector<float>> rows)>;

/// Errors: as Engine::check_prompt, naming the text; the reader's; interrupted.
[[nodiscard]] Result<void> read_rows(Engine& engine, std::span<const RowsWanted> wanted, const RowsReader& reader,
                                     const ReadingHooks& hooks = {});

/// The rows that pooling needs of a text of `tokens` tokens.
[[nodiscard]] std::vector<std::uint32_t> rows_for(Pooling pooling, std::size_t tokens);
/// One row of the rows that `rows_for` named: their mean, or the only one.
[[nodiscard]] std::vector<float> pooled(const std::vector<std::vector<float>>& rows);

}  // namespace plm
