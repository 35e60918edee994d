#include "model/layers/attention.h"

namespace plm {

void store_and_attend(const LayerPass& pass, const KvPlace& place, const ScoreRule& scores,
                      const AttentionScratch& scratch) {
  Device& device = pass.device;
  if (const std::size_t block = kv_rotation(*place.types.keys, place.head_dim); block > 0) {
    device.hadamard(scratch.queries, block);
    device.hadamard(scratch.keys, block);
  }
  const std::size_t value_block = kv_rotation(*place.types.values, place.head_dim);
  if (value_block > 0) device.hadamard(scratch.values, value_block);
  device.store_kv(scratch.keys, scratch.values, pass.table, place);
  device.attention(scratch.queries, pass.table, place, scores, scratch.mixed);
  if (value_block > 0) device.hadamard(scratch.mixed, value_block);
}

Result<void> Attention::load(WeightReader& reader, const std::string& prefix, bool is_fused) {
  const std::size_t hidden = size.hidden_size, q = size.q_columns(), kv = size.kv_columns();
  const MatrixSize q_size{q, hidden}, kv_size{kv, hidden}, o_size{hidden, q};
  const std::string name = prefix + ".attn_qkv";
  if (is_fused || reader.has(name + ".weight")) {
    const std::size_t all = q + 2 * kv;
    PLM_TRY_ASSIGN(query, Linear::load_rows(reader, name, WeightRole::attention_query, q_size, {0, all}));
    PLM_TRY_ASSIGN(key, Linear::load_rows(reader, name, WeightRole::attention_key, kv_size, {q, all}));
    PLM_TRY_ASSIGN(value, Linear::load_rows(reader, name, WeightRole::attention_value, kv_size, {q + kv, all}));
  } else {
    PLM_TRY_ASSIGN(query, Linear::load(reader, prefix + ".attn_q", WeightRole::attention_query, q_size));
    PLM_TRY_ASSIGN(key, Linear::load(reader, prefix + ".attn_k", WeightRole::attention_key, kv_size));
    PLM_TRY_ASSIGN(value, Linear::load(reader, prefix + ".attn_v", WeightRole::attention_value, kv_size));
  }
  PLM_TRY_ASSIGN(output, Linear::load(reader, prefix + ".attn_output", WeightRole::attention_output, o_size));
  return {};
}

Result<void> Attention::load_sinks(WeightReader& reader, const std::string& prefix) {
  PLM_TRY_ASSIGN(sinks, reader.vector(prefix + ".attn_sinks.weight", WeightRole::bias, size.q_heads));
  scores.sinks = sinks.get();
  return {};
}

Result<void> Attention::load_norms(WeightReader& reader, const std::string& prefix, QueryKeyNorm kind, float epsilon) {
  norm_kind = kind;
  if (kind == QueryKeyNorm::none) return {};
  const bool per_head = kind == QueryKeyNorm::per_head;
  PLM_TRY_ASSIGN(query_norm,
                 RmsNorm::load(reader, prefix + ".attn_q_norm", per_head ? size.head_dim : size.q_columns(), epsilon));
  PLM_TRY_ASSIGN(key_norm,
                 RmsNorm::load(reader, prefix + ".attn_k_norm", per_head ? size.head_dim : size.kv_columns(), epsilon));
  return {};
}

void Attention::normalise(Device& device, const RmsNorm& norm, const View& heads) const {
  if (norm_kind == QueryKeyNorm::whole) return norm(device, heads, heads);
  // A head is a row of its own here.
  const std::size_t count = heads.rows * heads.columns / size.head_dim;
  const View rows = dense_view(*heads.storage, count, size.head_dim, *heads.type, heads.offset);
  norm(device, rows, rows);
}

void Attention::operator()(const LayerPass& pass, std::size_t layer, const AttentionScratch& scratch, const View& in,
                           const View& out) const {
  Device& device = pass.device;
  query(device, in, scratch.queries);
  key(device, in, scratch.keys);
  value(device, in, scratch.values);
  if (query_norm.has_value()) normalise(device, *query_norm, scratch.queries);
  if (key_norm.has_value()) normalise(device, *key_norm, scratch.keys);
  if (pass.angles.columns > 0) {
    device.rope(scratch.queries, size.head_dim, pass.angles, rope_layout);
    device.rope(scratch.keys, size.head_dim, pass.angles, rope_layout);
  }
  store_and_attend(pass, pass.layout.layers[layer], scores, scratch);
  output(device, scratch.mixed, out);
  device.all_reduce(out);
}

}  // namespace plm
