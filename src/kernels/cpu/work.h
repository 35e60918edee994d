// What the kernels of the CPU device get: one struct per operation, with views already turned into plain pointers.
//
// `units()` is the number of parts that may be computed independently. A kernel computes the units of one Share and
// nothing else, so any number of threads can split a piece of work, in multiples of its kGrain.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/thread_team.h"
#include "kernels/cpu/cpu_weight.h"
#include "kernels/device.h"

namespace plm {

/// A float32 matrix [rows, columns]; rows are `stride` numbers apart.
struct Floats {
  float* data;
  std::size_t rows;
  std::size_t columns;
  std::size_t stride;

  [[nodiscard]] float* row(std::size_t r) const { return data + r * stride; }
};

/// Copies rows of bytes; `indices`, if any, choose the rows to read.
struct MoveWork {
  static constexpr std::size_t kGrain = 1;
  const std::byte* from;
  std::size_t from_stride;  ///< bytes
  std::byte* to;
  std::size_t to_stride;  ///< bytes
  std::size_t rows;
  std::size_t row_bytes;
  std::span<const std::uint32_t> indices;
  std::vector<std::byte> held;  ///< what an upload took from its caller; `from` points here
  [[nodiscard]] std::size_t units() const { return rows; }
};

struct EmbedWork {
  static constexpr std::size_t kGrain = 1;
  const CpuWeight* table;
  std::span<const std::int32_t> ids;
  Floats out;
  [[nodiscard]] std::size_t units() const { return ids.size(); }
};

/// Units are outputs, so that a weight is read once however many rows there are.
struct LinearWork {
  static constexpr std::size_t kGrain = kPanelOutputs;
  const CpuWeight* weight;
  Floats in;
  Floats out;
  const float* bias;  ///< [outputs] or null
  [[nodiscard]] std::size_t units() const { return out.columns; }
};

struct RmsNormWork {
  static constexpr std::size_t kGrain = 1;
  Floats in;
  const float* gain;  ///< [in.columns]
  float epsilon;
  Floats out;
  [[nodiscard]] std::size_t units() const { return in.rows; }
};

struct RopeWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  std::size_t head_dim;
  Floats angles;
  RopeLayout layout;
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

struct StoreKvWork {
  static constexpr std::size_t kGrain = 1;
  Floats keys;
  Floats values;
  RowTable table;
  KvPlace place;
  [[nodiscard]] std::size_t units() const { return keys.rows; }
};

/// Unit u is query row u / kv_heads and KV head u % kv_heads, with all query heads that read it.
struct AttentionWork {
  static constexpr std::size_t kGrain = 1;
  Floats queries;
  RowTable table;
  KvPlace place;
  float scale;
  Floats out;
  [[nodiscard]] std::size_t units() const { return queries.rows * place.kv_heads; }
  [[nodiscard]] std::size_t queries_per_kv_head() const { return queries.columns / place.head_dim / place.kv_heads; }
};

struct SiluMultiplyWork {
  static constexpr std::size_t kGrain = 1;
  Floats gate;
  Floats up;
  Floats out;
  [[nodiscard]] std::size_t units() const { return gate.rows; }
};

struct AddWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  Floats y;
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

struct StatisticsWork {
  static constexpr std::size_t kGrain = 1;
  Floats logits;
  RowStatistics* statistics;  ///< [rows]
  [[nodiscard]] std::size_t units() const { return logits.rows; }
};

struct TopNWork {
  static constexpr std::size_t kGrain = 1;
  Floats logits;
  std::size_t n;
  TokenScore* top;  ///< [rows, n]
  [[nodiscard]] std::size_t units() const { return logits.rows; }
};

}  // namespace plm
