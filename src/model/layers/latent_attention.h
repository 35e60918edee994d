// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434) in its absorbed form, for prompts and new tokens alike:
// what is stored of a cell is one latent vector c and one rotated key k, kv_rank + rope_dim numbers for all heads.
//   c = norm(W_c x), k = rope(W_k x);   of head h: q_h = W_q,h x, of which rope_dim numbers are rotated
//   score = (W_uk,h^T q_h . c + rope(q_h) . k) * scale;   out = W_o [W_uv,h (sum of weight * c)]_h
// So it is attention of all heads to one key head [c | k], whose value is the c in it. Keys and values of each head,
// which the papers write, are never made; tests/model/test_latent_attention.cpp compares with them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/layers/layer_pass.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"

namespace plm {

struct LatentSize {
  std::size_t hidden_size = 0;
  std::size_t q_heads = 0;
  std::size_t q_rank = 0;     ///< of queries between two matrices; 0: one matrix makes them
  std::size_t kv_rank = 0;    ///< of c
  std::size_t plain_dim = 0;  ///< numbers of a head's query that are not rotated
  std::size_t rope_dim = 0;
  std::size_t value_dim = 0;

  [[nodiscard]] std::size_t key_dim() const { return kv_rank + rope_dim; }
  [[nodiscard]] std::size_t head_dim() const { return plain_dim + rope_dim; }
  /// What a layer stores.
  [[nodiscard]] KvPlace place(const KvTypes& types) const {
    return {.types = types, .kv_heads = 1, .head_dim = key_dim(), .latent_dim = kv_rank};
  }
};

/// Buffers of one pass, reused by every layer.
struct LatentScratch {
  View low_queries;  ///< [rows, q_rank], if there are such
  View heads;        ///< [rows, q_heads * head_dim] queries as the weights make them
  View keys;         ///< [rows, key_dim]
  View queries;      ///< [rows, q_heads * key_dim] queries as they meet the keys
  View mixed;        ///< [rows, q_heads * kv_rank]
  View values;       ///< [rows, q_heads * value_dim]
};

struct LatentAttention {
  LatentSize size;
  ScoreRule scores = 1;
  Linear query_down, query, key_down, output;
  std::optional<RmsNorm> query_norm;
  RmsNorm key_norm;
  std::unique_ptr<Weight> key_up;    ///< [q_heads, kv_rank, plain_dim]
  std::unique_ptr<Weight> value_up;  ///< [q_heads, value_dim, kv_rank]

  /// Reads PREFIX.attn_q or attn_q_{a,a_norm,b}; attn_kv_a_{mqa,norm}; attn_{k,v}_b or, as in old files, attn_kv_b;
  /// attn_output.
  Result<void> load(WeightReader& reader, const std::string& prefix);

  /// out = attention over what each row sees, its own key stored first. in, out: [rows, hidden_size].
  void operator()(const LayerPass& pass, std::size_t layer, const LatentScratch& scratch, const View& in,
                  const View& out) const;

 private:
  void make_queries(const LayerPass& pass, const LatentScratch& scratch, const View& in) const;
};

}  // namespace plm
