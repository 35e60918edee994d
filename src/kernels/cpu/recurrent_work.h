// What the kernels of recurrent layers get, beside kernels/cpu/work.h, and how the CPU device lays a block out.
//
// Of a convolution the block holds the last taps - 1 inputs as [taps - 1][channels], the oldest first. Of a scan it
// holds, head after head, runs of at most kScanLanes columns of the matrix as [key_size][columns]: what one unit of
// work reads and writes lies together, and a SIMD lane is a column, so that no sum crosses lanes. A unit takes its
// columns through all rows of the pass, sequence after sequence, while they stay in the nearest cache.
// Tested by tests/kernels/cpu/test_recurrent.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cpu/cpu_storage.h"
#include "kernels/cpu/work.h"

namespace plm {

/// Columns that a unit of a scan takes at most: enough independent sums to hide the latency of a fused multiply-add.
inline constexpr std::size_t kScanLanes = 64;

[[nodiscard]] inline float* floats_at(const Storage& block, std::size_t offset) {
  return reinterpret_cast<float*>(static_cast<const CpuStorage&>(block).data() + offset);
}

/// The taps [channels, taps] of a convolution as the kernels read them: [taps, channels].
[[nodiscard]] std::vector<float> tap_major(const WeightSource& source);

/// Units are channels.
struct ConvWork {
  static constexpr std::size_t kGrain = 16;
  Floats in;
  std::span<const RecurrentRun> runs;
  std::span<const RecurrentSave> saves;
  ConvPlace place;
  const float* taps;  ///< [place.taps, place.channels]
  const float* bias;  ///< [place.channels] or null
  Floats out;
  [[nodiscard]] std::size_t units() const { return place.channels; }
};

/// Columns of one head's matrix.
struct ScanUnit {
  std::size_t head = 0;
  std::size_t begin = 0;  ///< of the columns
  std::size_t width = 0;
  std::size_t offset = 0;  ///< bytes from the start of the block
  std::size_t floats = 0;  ///< key_size * width
};

[[nodiscard]] inline std::size_t lane_groups(const ScanPlace& place) {
  return (place.value_size + kScanLanes - 1) / kScanLanes;
}

[[nodiscard]] inline ScanUnit scan_unit(const ScanPlace& place, std::size_t unit) {
  const std::size_t head = unit / lane_groups(place), begin = unit % lane_groups(place) * kScanLanes;
  const std::size_t width = std::min(kScanLanes, place.value_size - begin);
  const std::size_t before = place.key_size * (head * place.value_size + begin);
  return {head, begin, width, place.offset + before * sizeof(float), place.key_size * width};
}

/// Units are runs of columns.
struct StateSpaceWork {
  static constexpr std::size_t kGrain = 1;
  Floats values;
  Floats keys;
  Floats queries;
  Floats steps;
  const float* step_bias;
  const float* rates;
  const float* skips;
  std::span<const RecurrentRun> runs;
  std::span<const RecurrentSave> saves;
  ScanPlace place;
  Floats out;
  [[nodiscard]] std::size_t units() const { return place.heads * lane_groups(place); }
  /// Where the keys and queries of a head begin in their rows.
  [[nodiscard]] std::size_t key_column(std::size_t head) const {
    const std::size_t groups = keys.columns / place.key_size;
    return head / (place.heads / groups) * place.key_size;
  }
};

/// Units are runs of columns.
struct DeltaRuleWork {
  static constexpr std::size_t kGrain = 1;
  Floats queries;
  Floats keys;
  Floats values;
  Floats writes;
  Floats steps;
  const float* step_bias;
  const float* rates;
  std::span<const RecurrentRun> runs;
  std::span<const RecurrentSave> saves;
  ScanPlace place;
  Floats out;
  [[nodiscard]] std::size_t units() const { return place.heads * lane_groups(place); }
  [[nodiscard]] std::size_t key_heads() const { return keys.columns / place.key_size; }
  /// Heads that share a key head.
  [[nodiscard]] std::size_t group() const { return place.heads / key_heads(); }
};

}  // namespace plm
