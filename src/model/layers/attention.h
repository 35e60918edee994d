// Multi-head attention with grouped keys and values (arXiv 2305.13245) and rotary positions; queries and keys may be
// normalised before they are rotated (arXiv 2010.04245). Tested by tests/model/test_families.cpp.
#pragma once

#include <optional>

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"

namespace plm {

struct AttentionSize {
  std::size_t hidden_size = 0;
  std::size_t q_heads = 0;
  std::size_t kv_heads = 0;  ///< divides q_heads
  std::size_t head_dim = 0;

  [[nodiscard]] std::size_t q_columns() const { return q_heads * head_dim; }
  [[nodiscard]] std::size_t kv_columns() const { return kv_heads * head_dim; }
  /// What a layer stores.
  [[nodiscard]] KvPlace place(const KvTypes& types) const {
    return {.types = types, .kv_heads = kv_heads, .head_dim = head_dim};
  }
};

/// Norms on queries and keys: none, over each head with one gain for all heads, or over all heads of a row together.
enum class QueryKeyNorm : std::uint8_t { none, per_head, whole };

/// Buffers of one pass, reused by every layer.
struct AttentionScratch {
  View queries;  ///< [rows, q_heads * head_dim]
  View keys;     ///< [rows, kv_heads * head_dim]
  View values;   ///< [rows, kv_heads * head_dim]
  View mixed;    ///< [rows, q_heads * head_dim]
};

/// Stores keys and values of every row at `place`, then mixed = attention over what each row sees. Where the place's
/// types ask for it (kv_rotation), keys are stored rotated, and queries meet them rotated; values are stored rotated,
/// and what is made of them is turned back. Keys, values and queries are changed by that.
void store_and_attend(const LayerPass& pass, const KvPlace& place, const ScoreRule& scores,
                      const AttentionScratch& scratch);

struct Attention {
  AttentionSize size;
  RopeLayout rope_layout = RopeLayout::interleaved;
  ScoreRule scores = 1;
  QueryKeyNorm norm_kind = QueryKeyNorm::none;
  Linear query, key, value, output;
  std::optional<RmsNorm> query_norm, key_norm;
  std::unique_ptr<Weight> sinks;  ///< [q_heads] or null

  /// Reads PREFIX.attn_{q,k,v,output}, or PREFIX.attn_qkv in place of the first three.
  Result<void> load(WeightReader& reader, const std::string& prefix, bool is_fused);
  /// Reads PREFIX.attn_sinks: what each head may look at in place of any cell (arXiv 2309.17453).
  Result<void> load_sinks(WeightReader& reader, const std::string& prefix);
  /// Reads PREFIX.attn_{q,k}_norm.
  Result<void> load_norms(WeightReader& reader, const std::string& prefix, QueryKeyNorm kind, float epsilon);

  /// out = attention over what each row sees, its own key and value stored first. in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, std::size_t layer, const AttentionScratch& scratch, const View& in,
                  const View& out) const;

 private:
  void normalise(Device& device, const RmsNorm& norm, const View& heads) const;
};

}  // namespace plm
