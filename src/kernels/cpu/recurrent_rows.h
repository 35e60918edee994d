// What one row does to a sequence's block: finding the inputs of a convolution, taking a unit of a scan from row to
// row, and the plain arithmetic, which the fast kernels use for columns that fill no vector.
// Tested by tests/kernels/cpu/test_recurrent.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/portable_math.h"
#include "kernels/cpu/recurrent_work.h"

namespace plm {

/// The inputs that a run's outputs see: number i is the block's for the first taps - 1, then row i of the run.
struct ConvInputs {
  const ConvWork& work;
  const RecurrentRun& run;
  float* block = floats_at(*run.block, work.place.offset);

  [[nodiscard]] std::size_t kept() const { return work.place.taps - 1; }
  [[nodiscard]] float* kept_row(std::size_t i) const { return block + i * work.place.channels; }
  [[nodiscard]] const float* row(std::size_t i) const {
    return i < kept() ? kept_row(i) : work.in.row(run.first_row + i - kept());
  }

  void begin(Share channels) const {
    for (std::size_t i = 0; run.begins && i < kept(); ++i) {
      std::fill(kept_row(i) + channels.begin, kept_row(i) + channels.end, 0.0F);
    }
  }
  /// Fills the saves, then makes the last inputs those of the rows behind the run.
  void end(Share channels) const {
    for (const RecurrentSave& save : work.saves.subspan(run.first_save, run.save_count)) {
      put(save.row - run.first_row + 1, channels, floats_at(*save.to, work.place.offset));
    }
    put(run.row_count, channels, block);
  }

 private:
  // Ascending, so that `to` may be the block itself.
  void put(std::size_t first, Share channels, float* to) const {
    for (std::size_t i = 0; i < kept(); ++i) {
      std::copy(row(first + i) + channels.begin, row(first + i) + channels.end,
                to + i * work.place.channels + channels.begin);
    }
  }
};

/// Takes the columns of a unit through all rows of a scan: visit(row, matrix) changes them as the row says.
template <typename Work, typename Visit>
void walk_rows(const Work& work, const ScanUnit& unit, Visit visit) {
  for (const RecurrentRun& run : work.runs) {
    float* matrix = floats_at(*run.block, unit.offset);
    if (run.begins) std::fill_n(matrix, unit.floats, 0.0F);
    std::span<const RecurrentSave> saves = work.saves.subspan(run.first_save, run.save_count);
    for (std::size_t row = run.first_row; row < run.first_row + run.row_count; ++row) {
      visit(row, matrix);
      for (; !saves.empty() && saves.front().row == row; saves = saves.subspan(1)) {
        std::copy_n(matrix, unit.floats, floats_at(*saves.front().to, unit.offset));
      }
    }
  }
}

/// One row of a state-space scan, for the columns of a unit.
struct StateSpaceRow {
  float step, decay, skip;
  const float* values;          ///< [width]
  const float *keys, *queries;  ///< [key_size]
  float* out;                   ///< [width]
  std::size_t key_size, width;

  StateSpaceRow(const StateSpaceWork& work, const ScanUnit& unit, std::size_t row)
      : step(softplus_f32(work.steps.row(row)[unit.head] + work.step_bias[unit.head])),
        decay(exp_f32(step * work.rates[unit.head])),
        skip(work.skips[unit.head]),
        values(work.values.row(row) + unit.head * work.place.value_size + unit.begin),
        keys(work.keys.row(row) + work.key_column(unit.head)),
        queries(work.queries.row(row) + work.key_column(unit.head)),
        out(work.out.row(row) + unit.head * work.place.value_size + unit.begin),
        key_size(work.place.key_size),
        width(unit.width) {}

  /// Columns [begin, end), one by one.
  void run(float* matrix, std::size_t begin, std::size_t end) const {
    for (std::size_t v = begin; v < end; ++v) {
      const float push = step * values[v];
      float sum = 0;
      for (std::size_t k = 0; k < key_size; ++k) {
        float& cell = matrix[k * width + v];
        cell = std::fma(cell, decay, push * keys[k]);
        sum = std::fma(cell, queries[k], sum);
      }
      out[v] = std::fma(skip, values[v], sum);
    }
  }
};

/// One row of a delta rule, for the columns of a unit.
struct DeltaRuleRow {
  float write, decay;
  const float* values;          ///< [width]
  const float *keys, *queries;  ///< [key_size]
  float* out;                   ///< [width]
  std::size_t key_size, width;

  DeltaRuleRow(const DeltaRuleWork& work, const ScanUnit& unit, std::size_t row) {
    const std::size_t key_head = unit.head / work.group(), member = unit.head % work.group();
    const std::size_t gate_row = row * work.key_heads() + key_head;
    const float step = softplus_f32(work.steps.row(gate_row)[member] + work.step_bias[unit.head]);
    write = sigmoid_f32(work.writes.row(gate_row)[member]);
    decay = exp_f32(step * work.rates[unit.head]);
    values = work.values.row(row) + unit.head * work.place.value_size + unit.begin;
    keys = work.keys.row(row) + key_head * work.place.key_size;
    queries = work.queries.row(row) + key_head * work.place.key_size;
    out = work.out.row(row) + unit.head * work.place.value_size + unit.begin;
    key_size = work.place.key_size;
    width = unit.width;
  }

  /// Columns [begin, end), one by one.
  void run(float* matrix, std::size_t begin, std::size_t end) const {
    for (std::size_t v = begin; v < end; ++v) {
      float known = 0, sum = 0;
      for (std::size_t k = 0; k < key_size; ++k) {
        float& cell = matrix[k * width + v];
        cell *= decay;
        known = std::fma(cell, keys[k], known);
      }
      const float change = write * (values[v] - known);
      for (std::size_t k = 0; k < key_size; ++k) {
        float& cell = matrix[k * width + v];
        cell = std::fma(keys[k], change, cell);
        sum = std::fma(cell, queries[k], sum);
      }
      out[v] = sum;
    }
  }
};

}  // namespace plm
