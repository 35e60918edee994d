#include "model/layers/output_head.h"

#include <algorithm>

namespace plm {
namespace {

// Enqueues what one yield wants, given its row of logits and of hidden states.
void enqueue_reading(Device& device, const Yield& yield, const View& hidden, const View& logits, YieldResult& result) {
  switch (yield.kind) {
    case YieldKind::nothing:
    case YieldKind::statistics: break;
    case YieldKind::hidden:
      result.values.resize(hidden.columns);
      device.download(hidden, std::as_writable_bytes(std::span(result.values)));
      break;
    case YieldKind::logits:
      result.values.resize(logits.columns);
      device.download(logits, std::as_writable_bytes(std::span(result.values)));
      break;
    case YieldKind::top:
      result.top.resize(std::min<std::size_t>(yield.n, logits.columns));
      device.top_n(logits, result.top.size(), result.top);
      break;
  }
}

}  // namespace

Result<void> OutputHead::enqueue(Device& device, Workspace& workspace, const Weight& head, const View& hidden,
                                 const PassRows& rows) {
  const std::size_t count = rows.yields.size();
  PLM_CHECK(rows.statistics.size() == count && rows.results.size() == count);
  if (count == 0) return {};
  indices_.clear();
  for (const Yield& yield : rows.yields) indices_.push_back(yield.row);
  const std::size_t group_rows = std::min(count, kGroupRows);
  PLM_TRY_ASSIGN(const View group_hidden, workspace.take(group_rows, hidden.columns));
  PLM_TRY_ASSIGN(const View group_logits, workspace.take(group_rows, head.outputs));
  for (std::size_t begin = 0; begin < count; begin += group_rows) {
    const std::size_t size = std::min(group_rows, count - begin);
    const View chosen = group_hidden.row_range(0, size);
    const View logits = group_logits.row_range(0, size);
    device.gather_rows(hidden, std::span(indices_).subspan(begin, size), chosen);
    device.linear(head, chosen, logits);
    device.statistics(logits, rows.statistics.subspan(begin, size));
    for (std::size_t i = 0; i < size; ++i) {
      enqueue_reading(device, rows.yields[begin + i], chosen.row_range(i, 1), logits.row_range(i, 1),
                      rows.results[begin + i]);
    }
  }
  return {};
}

}  // namespace plm
