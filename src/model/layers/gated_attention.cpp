#include "model/layers/gated_attention.h"

namespace plm {

Result<void> GatedAttention::load(WeightReader& reader, const std::string& prefix, float norm_epsilon) {
  const std::size_t hidden = size.hidden_size, q = size.q_columns(), kv = size.kv_columns();
  PLM_TRY_ASSIGN(query, Linear::load(reader, prefix + ".attn_q", WeightRole::attention_query, {2 * q, hidden}));
  PLM_TRY_ASSIGN(key, Linear::load(reader, prefix + ".attn_k", WeightRole::attention_key, {kv, hidden}));
  PLM_TRY_ASSIGN(value, Linear::load(reader, prefix + ".attn_v", WeightRole::attention_value, {kv, hidden}));
  PLM_TRY_ASSIGN(output, Linear::load(reader, prefix + ".attn_output", WeightRole::attention_output, {hidden, q}));
  PLM_TRY_ASSIGN(query_norm, RmsNorm::load(reader, prefix + ".attn_q_norm", size.head_dim, norm_epsilon));
  PLM_TRY_ASSIGN(key_norm, RmsNorm::load(reader, prefix + ".attn_k_norm", size.head_dim, norm_epsilon));
  return {};
}

void GatedAttention::operator()(const LayerPass& pass, std::size_t kv_layer, const GatedAttentionScratch& scratch,
                                const View& in, const View& out) const {
  Device& device = pass.device;
  const AttentionScratch& at = scratch.attention;
  // A head is a row of its own here.
  const auto heads_of = [](const View& view, std::size_t columns) {
    return dense_view(*view.storage, view.rows * view.columns / columns, columns, *view.type, view.offset);
  };
  query(device, in, scratch.queries);
  key(device, in, at.keys);
  value(device, in, at.values);
  const View pairs = heads_of(scratch.queries, 2 * size.head_dim);
  query_norm(device, pairs.column_range(0, size.head_dim), heads_of(at.queries, size.head_dim));
  const View key_heads = heads_of(at.keys, size.head_dim);
  key_norm(device, key_heads, key_heads);
  device.rope(at.queries, size.head_dim, pass.angles, rope_layout);
  device.rope(at.keys, size.head_dim, pass.angles, rope_layout);
  store_and_attend(pass, pass.layout.layers[kv_layer], scores, at);
  const View mixed = heads_of(at.mixed, size.head_dim);
  device.gate_multiply(pairs.column_range(size.head_dim, size.head_dim), mixed, Activation::sigmoid, mixed);
  output(device, at.mixed, out);
  device.all_reduce(out);
}

}  // namespace plm
