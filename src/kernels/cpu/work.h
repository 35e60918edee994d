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
#include "kernels/cpu/rounded_rows.h"
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
  [[nodiscard]] std::size_t units() const { return rows; }
};

struct EmbedWork {
  static constexpr std::size_t kGrain = 1;
  const CpuWeight* table;
  std::span<const std::int32_t> ids;
  Floats out;
  float factor;
  [[nodiscard]] std::size_t units() const { return ids.size(); }
};

/// Units are outputs, so that a weight is read once however many rows there are.
struct LinearWork {
  static constexpr std::size_t kGrain = kPanelOutputs;
  const CpuWeight* weight;
  Floats in;
  Floats out;
  const float* bias;       ///< [outputs] or null
  std::size_t matrix = 0;  ///< of those that the weight holds
  [[nodiscard]] std::size_t units() const { return out.columns; }
};

/// A product for each head of every row (Device::head_linear). Units are panels, head after head.
struct HeadLinearWork {
  static constexpr std::size_t kGrain = 1;
  const CpuWeight* weight;
  Floats in;
  Floats out;
  [[nodiscard]] std::size_t units() const { return weight->count * panel_count(weight->outputs); }
};

/// Rounds rows for products with quantised weights.
struct RoundWork {
  static constexpr std::size_t kGrain = 1;
  Floats in;
  RoundedRows out;
  [[nodiscard]] std::size_t units() const { return in.rows; }
};

/// Units are outputs.
struct IntegerLinearWork {
  static constexpr std::size_t kGrain = kPanelOutputs;
  const CpuWeight* weight;
  RoundedRows in;
  Floats out;
  const float* bias;       ///< [outputs] or null
  std::size_t matrix = 0;  ///< of those that the weight holds
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

struct HadamardWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  std::size_t block;
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

/// Attention in one of two ways (kernels/cpu/attention_cut.h): as a `whole`, or first the sums of every single page,
/// then, as work of its own, the `total` of those. A query is one head of one row; those of a KV head are numbered
/// row * group() + head within the group.
struct AttentionWork {
  enum class Part { whole, pages, total };
  static constexpr std::size_t kGrain = 1;
  Floats queries;
  RowTable table;
  KvPlace place;
  ScoreRule rule = 1;
  const float* sinks = nullptr;  ///< [q_heads] or null
  Floats out;
  std::size_t block_queries = 1;  ///< queries of one unit of `whole`
  std::size_t page_count = 0;     ///< pages that the rows see, added up: a unit of `pages` for each KV head
  Part part = Part::whole;
  std::vector<float>* page_sums = nullptr;  ///< [page_count * kv_heads * group(), page_sum_size()]

  [[nodiscard]] std::size_t q_heads() const { return queries.columns / place.head_dim; }
  /// Where the sum of a query head goes: [place.value_dim()].
  [[nodiscard]] float* out_of(std::size_t row, std::size_t head) const {
    return out.row(row) + head * place.value_dim();
  }
  [[nodiscard]] const float* sink_of(std::size_t head) const { return sinks != nullptr ? sinks + head : nullptr; }
  /// Query heads that read the same KV head.
  [[nodiscard]] std::size_t group() const { return q_heads() / place.kv_heads; }
  [[nodiscard]] std::size_t block_count() const { return (queries.rows * group() + block_queries - 1) / block_queries; }
  /// Floats that keep what a query finds in one page: sums of weighted values, largest score, sum of weights.
  [[nodiscard]] std::size_t page_sum_size() const { return place.value_dim() + 2; }
  [[nodiscard]] std::size_t page_sums_size() const { return page_count * q_heads() * page_sum_size(); }
  /// Of query head g of the group, in the page that is unit `unit` of `pages`.
  [[nodiscard]] float* page_sum(std::size_t unit, std::size_t g) const {
    return page_sums->data() + (unit * group() + g) * page_sum_size();
  }
  [[nodiscard]] std::size_t units() const {
    if (part == Part::pages) return page_count * place.kv_heads;
    return part == Part::total ? queries.rows * q_heads() : block_count() * place.kv_heads;
  }
};

struct GateWork {
  static constexpr std::size_t kGrain = 1;
  Floats gate;
  Floats up;
  Activation activation;
  Floats out;
  [[nodiscard]] std::size_t units() const { return gate.rows; }
};

struct SoftCapWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  float cap;
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

struct AddWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  Floats y;
  [[nodiscard]] std::size_t units() const { return x.rows; }
};

struct ScaleWork {
  static constexpr std::size_t kGrain = 1;
  Floats x;
  float factor;
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
