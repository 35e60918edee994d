#include "model/layers/latent_attention.h"

namespace plm {
namespace {

// The published networks normalise what lies between two matrices with this, whatever their other norms have.
constexpr float kInnerEpsilon = 1e-6F;

// Each head of each row as a row of its own.
View head_rows(const View& heads, std::size_t head_dim) {
  return dense_view(*heads.storage, heads.rows * heads.columns / head_dim, head_dim, *heads.type, heads.offset);
}

}  // namespace

Result<void> LatentAttention::load(WeightReader& reader, const std::string& prefix) {
  const std::size_t hidden = size.hidden_size, all_heads = size.q_heads * size.head_dim();
  if (size.q_rank > 0) {
    const MatrixSize down{size.q_rank, hidden}, up{all_heads, size.q_rank};
    PLM_TRY_ASSIGN(query_down, Linear::load(reader, prefix + ".attn_q_a", WeightRole::attention_latent, down));
    PLM_TRY_ASSIGN(query_norm, RmsNorm::load(reader, prefix + ".attn_q_a_norm", size.q_rank, kInnerEpsilon));
    PLM_TRY_ASSIGN(query, Linear::load(reader, prefix + ".attn_q_b", WeightRole::attention_query, up));
  } else {
    PLM_TRY_ASSIGN(query, Linear::load(reader, prefix + ".attn_q", WeightRole::attention_query, {all_heads, hidden}));
  }
  const MatrixSize keys{size.key_dim(), hidden}, out{hidden, size.q_heads * size.value_dim};
  PLM_TRY_ASSIGN(key_down, Linear::load(reader, prefix + ".attn_kv_a_mqa", WeightRole::attention_latent, keys));
  PLM_TRY_ASSIGN(key_norm, RmsNorm::load(reader, prefix + ".attn_kv_a_norm", size.kv_rank, kInnerEpsilon));
  const MatrixSize key_size{size.kv_rank, size.plain_dim, size.q_heads};
  const MatrixSize value_size{size.value_dim, size.kv_rank, size.q_heads};
  const std::string both = prefix + ".attn_kv_b.weight";
  if (reader.has(both)) {
    const std::size_t rows = size.plain_dim + size.value_dim;  // of a head
    PLM_TRY_ASSIGN(key_up, reader.transposed_rows(both, WeightRole::attention_key, key_size, {0, rows}));
    PLM_TRY_ASSIGN(value_up,
                   reader.stacked_rows(both, WeightRole::attention_value, value_size, {size.plain_dim, rows}));
  } else {
    PLM_TRY_ASSIGN(key_up, reader.matrix(prefix + ".attn_k_b.weight", WeightRole::attention_key, key_size));
    PLM_TRY_ASSIGN(value_up, reader.matrix(prefix + ".attn_v_b.weight", WeightRole::attention_value, value_size));
  }
  PLM_TRY_ASSIGN(output, Linear::load(reader, prefix + ".attn_output", WeightRole::attention_output, out));
  return {};
}

// Queries of the weights, rotated, and turned to what they meet: for each head W_uk^T q, then the rotated numbers.
void LatentAttention::make_queries(const LayerPass& pass, const LatentScratch& scratch, const View& in) const {
  Device& device = pass.device;
  if (query_norm.has_value()) {
    query_down(device, in, scratch.low_queries);
    (*query_norm)(device, scratch.low_queries, scratch.low_queries);
    query(device, scratch.low_queries, scratch.heads);
  } else {
    query(device, in, scratch.heads);
  }
  const std::size_t rotated = scratch.heads.columns - size.plain_dim;  // from the first rotated number on
  device.rope(scratch.heads.column_range(size.plain_dim, rotated), size.head_dim(), pass.angles,
              RopeLayout::interleaved);
  device.head_linear(*key_up, scratch.heads, scratch.queries);
  device.copy(head_rows(scratch.queries, size.key_dim()).column_range(size.kv_rank, size.rope_dim),
              head_rows(scratch.heads, size.head_dim()).column_range(size.plain_dim, size.rope_dim));
}

void LatentAttention::operator()(const LayerPass& pass, std::size_t layer, const LatentScratch& scratch, const View& in,
                                 const View& out) const {
  Device& device = pass.device;
  const KvPlace& place = pass.layout.layers[layer];
  const View latent = scratch.keys.column_range(0, size.kv_rank);
  key_down(device, in, scratch.keys);
  key_norm(device, latent, latent);
  device.rope(scratch.keys.column_range(size.kv_rank, size.rope_dim), size.rope_dim, pass.angles,
              RopeLayout::interleaved);
  make_queries(pass, scratch, in);
  device.store_kv(scratch.keys, View{}, pass.table, place);
  device.attention(scratch.queries, pass.table, place, scores, scratch.mixed);
  device.head_linear(*value_up, scratch.mixed, scratch.values);
  output(device, scratch.values, out);
  device.all_reduce(out);
}

}  // namespace plm
