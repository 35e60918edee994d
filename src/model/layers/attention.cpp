#include "model/layers/attention.h"

#include <cmath>

namespace plm {

Result<Attention> Attention::load(WeightReader& reader, const std::string& prefix, const AttentionSize& size,
                                  RopeLayout layout) {
  Attention attention;
  attention.size = size;
  attention.rope_layout = layout;
  attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(size.head_dim)));
  const MatrixSize q{.outputs = size.q_heads * size.head_dim, .inputs = size.hidden_size};
  const MatrixSize kv{.outputs = size.kv_heads * size.head_dim, .inputs = size.hidden_size};
  const MatrixSize o{.outputs = q.inputs, .inputs = q.outputs};
  PLM_TRY_ASSIGN(attention.query, Linear::load(reader, prefix + ".attn_q", WeightRole::attention_query, q));
  PLM_TRY_ASSIGN(attention.key, Linear::load(reader, prefix + ".attn_k", WeightRole::attention_key, kv));
  PLM_TRY_ASSIGN(attention.value, Linear::load(reader, prefix + ".attn_v", WeightRole::attention_value, kv));
  PLM_TRY_ASSIGN(attention.output, Linear::load(reader, prefix + ".attn_output", WeightRole::attention_output, o));
  return attention;
}

void Attention::operator()(const LayerPass& pass, std::size_t layer, const AttentionScratch& scratch, const View& in,
                           const View& out) const {
  Device& device = pass.device;
  const KvPlace& place = pass.layout.layers[layer];
  query(device, in, scratch.queries);
  key(device, in, scratch.keys);
  value(device, in, scratch.values);
  device.rope(scratch.queries, size.head_dim, pass.angles, rope_layout);
  device.rope(scratch.keys, size.head_dim, pass.angles, rope_layout);
  device.store_kv(scratch.keys, scratch.values, pass.table, place);
  device.attention(scratch.queries, pass.table, place, scale, scratch.mixed);
  output(device, scratch.mixed, out);
  device.all_reduce(out);
}

}  // namespace plm
