// The canvas: the cells of one text, each with a stable id, a status and the token the network is shown there.
//
// Autoregression keeps one open cell at the end; masked diffusion starts with many; infill has given cells on both
// sides; editing revokes, inserts and deletes. Proposals and probabilities are not here, they travel in pass results.
// Invariants
//  1. A given cell never changes. Only an open cell can be committed.
//  2. An id names the same cell for ever; positions shift when cells before it come or go.
//  3. State stored for positions below `stale_from()` still belongs to the cells that lie there.
// Tested by tests/decode/test_canvas.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/token.h"

namespace plm {

using CellId = std::uint32_t;

enum class CellStatus : std::uint8_t {
  given,      ///< part of the prompt
  open,       ///< still to be decided; the token is a mask, noise or a draft
  committed,  ///< decided, revisable
};

struct Cell {
  CellId id;
  CellStatus status;
  TokenId token;
};

class Canvas {
 public:
  CellId append_given(TokenId token) { return insert(cells_.size(), CellStatus::given, token); }
  CellId append_open(TokenId shown) { return insert(cells_.size(), CellStatus::open, shown); }
  /// A new open cell before the cell at `position` (<= size()).
  CellId insert_open(std::size_t position, TokenId shown) { return insert(position, CellStatus::open, shown); }
  /// Removes a cell that is not given.
  void erase(CellId id);

  /// Decides an open cell.
  void commit(CellId id, TokenId token);
  /// Gives a committed cell another token.
  void replace(CellId id, TokenId token);
  /// Opens a committed cell again.
  void revoke(CellId id, TokenId shown);
  /// Shows the network another token in an open cell.
  void show(CellId id, TokenId shown);

  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  [[nodiscard]] std::span<const Cell> cells() const { return cells_; }
  [[nodiscard]] const Cell& at(std::size_t position) const { return cells_[position]; }
  /// Where the cell lies now. The id must be that of a cell on the canvas.
  [[nodiscard]] std::size_t position_of(CellId id) const;
  /// The tokens shown, in order.
  [[nodiscard]] std::vector<TokenId> tokens() const;

  /// First position whose stored state no longer fits, size() when all of it does.
  [[nodiscard]] std::size_t stale_from() const { return stale_from_ < cells_.size() ? stale_from_ : cells_.size(); }
  /// Says that state for every position below `position` has been computed anew.
  void refreshed(std::size_t position) { stale_from_ = position > stale_from_ ? position : stale_from_; }

 private:
  CellId insert(std::size_t position, CellStatus status, TokenId token);
  Cell& changed(CellId id);

  std::vector<Cell> cells_;
  CellId next_id_ = 0;
  std::size_t stale_from_ = 0;
};

}  // namespace plm
