#include "decode/canvas.h"

#include <algorithm>

#include "base/error.h"

namespace plm {

CellId Canvas::insert(std::size_t position, CellStatus status, TokenId token) {
  PLM_CHECK(position <= cells_.size());
  const CellId id = next_id_++;
  cells_.insert(cells_.begin() + static_cast<std::ptrdiff_t>(position), Cell{id, status, token});
  stale_from_ = std::min(stale_from_, position);
  return id;
}

std::size_t Canvas::position_of(CellId id) const {
  // Cells are usually appended, so the id is a good first guess and the end a good place to start.
  if (id < cells_.size() && cells_[id].id == id) return id;
  const auto found = std::find_if(cells_.rbegin(), cells_.rend(), [id](const Cell& cell) { return cell.id == id; });
  PLM_CHECK(found != cells_.rend());
  return static_cast<std::size_t>(cells_.rend() - found) - 1;
}

Cell& Canvas::changed(CellId id) {
  const std::size_t position = position_of(id);
  stale_from_ = std::min(stale_from_, position);
  return cells_[position];
}

void Canvas::erase(CellId id) {
  const std::size_t position = position_of(id);
  PLM_CHECK(cells_[position].status != CellStatus::given);
  cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(position));
  stale_from_ = std::min(stale_from_, position);
}

void Canvas::commit(CellId id, TokenId token) {
  Cell& cell = changed(id);
  PLM_CHECK(cell.status == CellStatus::open);
  cell.status = CellStatus::committed;
  cell.token = token;
}

void Canvas::replace(CellId id, TokenId token) {
  Cell& cell = changed(id);
  PLM_CHECK(cell.status == CellStatus::committed);
  cell.token = token;
}

void Canvas::revoke(CellId id, TokenId shown) {
  Cell& cell = changed(id);
  PLM_CHECK(cell.status == CellStatus::committed);
  cell.status = CellStatus::open;
  cell.token = shown;
}

void Canvas::show(CellId id, TokenId shown) {
  Cell& cell = changed(id);
  PLM_CHECK(cell.status == CellStatus::open);
  cell.token = shown;
}

std::vector<TokenId> Canvas::tokens() const {
  std::vector<TokenId> tokens;
  tokens.reserve(cells_.size());
  for (const Cell& cell : cells_) tokens.push_back(cell.token);
  return tokens;
}

}  // namespace plm
