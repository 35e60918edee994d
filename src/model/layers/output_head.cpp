#include "model/layers/output_head.h"

#include <algorithm>
#include <limits>

namespace plm {
namespace {

void enqueue_values(Device& device, const View& row, YieldResult& result) {
  result.values.resize(row.columns);
  device.download(row, std::as_writable_bytes(std::span(result.values)));
}

// Enqueues what one yield wants besides statistics, given its row of logits.
void enqueue_reading(Device& device, const Yield& yield, const View& logits, YieldResult& result) {
  if (yield.kind == YieldKind::logits) enqueue_values(device, logits, result);
  if (yield.kind == YieldKind::top) {
    result.top.resize(std::min<std::size_t>(yield.n, logits.columns));
    device.top_n(logits, result.top.size(), result.top);
  }
}

}  // namespace

Result<void> OutputHead::enqueue(Device& device, Workspace& workspace, const Weight& head, const FinalRows& hidden,
                                 const PassRows& rows) {
  PLM_CHECK(rows.statistics.size() == rows.yields.size() && rows.results.size() == rows.yields.size());
  asking_.clear();
  indices_.clear();
  for (std::size_t i = 0; i < rows.yields.size(); ++i) {
    const Yield& yield = rows.yields[i];
    if (yield.kind == YieldKind::hidden) enqueue_values(device, hidden.states.row_range(yield.row, 1), rows.results[i]);
    if (!needs_logits(yield.kind)) continue;
    asking_.push_back(i);
    indices_.push_back(yield.row);
  }
  const std::size_t count = asking_.size();
  if (count == 0) return {};
  const std::size_t group_rows = std::min(count, kGroupRows);
  PLM_TRY_ASSIGN(const View group_hidden, workspace.take(group_rows, hidden.for_logits.columns));
  PLM_TRY_ASSIGN(const View group_logits, workspace.take(group_rows, head.outputs));
  for (std::size_t begin = 0; begin < count; begin += group_rows) {
    const std::size_t size = std::min(group_rows, count - begin);
    const View chosen = group_hidden.row_range(0, size);
    const View logits = group_logits.row_range(0, size);
    device.gather_rows(hidden.for_logits, std::span(indices_).subspan(begin, size), chosen);
    device.linear(head, chosen, logits, bias);
    if (scale != 1) device.scale(logits, scale);
    if (soft_cap > 0) device.soft_cap(logits, soft_cap);
    leave_out(device, std::span(asking_).subspan(begin, size), logits, rows);
    enqueue_readings(device, std::span(asking_).subspan(begin, size), logits, rows);
  }
  return {};
}

// Yields that follow each other mostly leave out the same token: one column, written at once.
void OutputHead::leave_out(Device& device, std::span<const std::size_t> asking, const View& logits,
                           const PassRows& rows) {
  const auto without = [&](std::size_t i) { return rows.yields[asking[i]].without; };
  for (std::size_t begin = 0; begin < asking.size();) {
    std::size_t end = begin + 1;
    while (end < asking.size() && without(end) == without(begin)) ++end;
    if (without(begin) >= 0) {
      PLM_CHECK(static_cast<std::size_t>(without(begin)) < logits.columns);
      never_.assign(end - begin, -std::numeric_limits<float>::infinity());
      device.upload(logits.row_range(begin, end - begin).column_range(static_cast<std::size_t>(without(begin)), 1),
                    std::as_bytes(std::span(never_)));
    }
    begin = end;
  }
}

Result<void> OutputHead::enqueue_hidden(Device& device, const View& hidden, const PassRows& rows) {
  PLM_CHECK(rows.results.size() == rows.yields.size());
  for (std::size_t i = 0; i < rows.yields.size(); ++i) {
    const Yield& yield = rows.yields[i];
    if (needs_logits(yield.kind)) {
      return fail(ErrorKind::usage, "row {}: logits are asked for, but this network has no head", yield.row);
    }
    if (yield.kind == YieldKind::hidden) enqueue_values(device, hidden.row_range(yield.row, 1), rows.results[i]);
  }
  return {};
}

void OutputHead::enqueue_readings(Device& device, std::span<const std::size_t> asking, const View& logits,
                                  const PassRows& rows) {
  for (std::size_t begin = 0; begin < asking.size();) {
    std::size_t end = begin + 1;  // of yields that follow each other, as their statistics must
    while (end < asking.size() && asking[end] == asking[end - 1] + 1) ++end;
    device.statistics(logits.row_range(begin, end - begin), rows.statistics.subspan(asking[begin], end - begin));
    begin = end;
  }
  for (std::size_t i = 0; i < asking.size(); ++i) {
    enqueue_reading(device, rows.yields[asking[i]], logits.row_range(i, 1), rows.results[asking[i]]);
  }
}

}  // namespace plm
