#include "model/layers/delta_net.h"

#include <cmath>

namespace plm {
namespace {

constexpr float kLengthEpsilon = 1e-6F;  // below the root of the sum of squares

// Rows of `columns` numbers each, of a dense view.
View rows_of(const View& view, std::size_t columns) {
  return dense_view(*view.storage, view.rows * view.columns / columns, columns, *view.type, view.offset);
}

}  // namespace

Result<void> DeltaNet::load(WeightReader& reader, const std::string& prefix, float norm_epsilon,
                            RecurrentBlocks& blocks) {
  constexpr WeightRole kIn = WeightRole::recurrent_input;
  const std::size_t hidden = size.hidden_size;
  const MatrixSize out{.outputs = hidden, .inputs = size.inner_size};
  PLM_TRY_ASSIGN(input, Linear::load(reader, prefix + ".attn_qkv", kIn, {size.conv_columns(), hidden}));
  PLM_TRY_ASSIGN(gate, Linear::load(reader, prefix + ".attn_gate", kIn, {size.inner_size, hidden}));
  PLM_TRY_ASSIGN(steps, Linear::load(reader, prefix + ".ssm_ba", kIn, {2 * size.heads, hidden}));
  PLM_TRY(load_convolution(reader, prefix + ".ssm_conv1d.weight", blocks));
  PLM_TRY(make_norms(reader));
  PLM_TRY_ASSIGN(step_bias, reader.vector(prefix + ".ssm_dt.bias", WeightRole::bias, size.heads));
  PLM_TRY_ASSIGN(rates, reader.column(prefix + ".ssm_a", WeightRole::bias, size.heads));
  PLM_TRY_ASSIGN(norm, RmsNorm::load(reader, prefix + ".ssm_norm", size.value_size(), norm_epsilon));
  PLM_TRY_ASSIGN(output, Linear::load(reader, prefix + ".ssm_out", WeightRole::recurrent_output, out));
  scan_place = blocks.scan(size);
  return {};
}

// In three parts, so that each has rows of its own, which can be normalised head by head.
Result<void> DeltaNet::load_convolution(WeightReader& reader, const std::string& name, RecurrentBlocks& blocks) {
  std::size_t first = 0;
  for (Branch* branch : {&queries, &keys, &values}) {
    const MatrixSize part{.outputs = branch == &values ? size.inner_size : size.key_columns(), .inputs = size.taps};
    PLM_TRY_ASSIGN(branch->taps, reader.matrix_rows(name, WeightRole::convolution, part, {first, size.conv_columns()}));
    branch->place = blocks.conv(part.outputs, part.inputs);
    branch->first_column = first;
    first += part.outputs;
  }
  return {};
}

// x / sqrt(sum of squares + epsilon) as a norm by the mean of squares.
Result<void> DeltaNet::make_norms(WeightReader& reader) {
  const auto n = static_cast<float>(size.key_size);
  query_norm.epsilon = key_norm.epsilon = kLengthEpsilon / n;
  PLM_TRY_ASSIGN(query_norm.gain, reader.constant(WeightRole::norm, size.key_size, 1 / n));
  PLM_TRY_ASSIGN(key_norm.gain, reader.constant(WeightRole::norm, size.key_size, 1 / std::sqrt(n)));
  return {};
}

void DeltaNet::operator()(const LayerPass& pass, const DeltaNetScratch& scratch, const View& in,
                          const View& out) const {
  Device& device = pass.device;
  input(device, in, scratch.inputs);
  gate(device, in, scratch.gate);
  steps(device, in, scratch.steps);
  const std::pair<const Branch&, const View&> branches[] = {
      {queries, scratch.queries}, {keys, scratch.keys}, {values, scratch.values}};
  for (const auto& [branch, to] : branches) {
    const View from = scratch.inputs.column_range(branch.first_column, to.columns);
    device.causal_conv(from, pass.table, branch.place, {*branch.taps}, to);
  }
  const View query_heads = rows_of(scratch.queries, size.key_size), key_heads = rows_of(scratch.keys, size.key_size);
  query_norm(device, query_heads, query_heads);
  key_norm(device, key_heads, key_heads);
  // Of each key head: "b" of its value heads, then their "a".
  const std::size_t group = size.heads / size.groups;
  const View step_rows = rows_of(scratch.steps, 2 * group);
  const DeltaRuleInputs scanned{
      .queries = scratch.queries,
      .keys = scratch.keys,
      .values = scratch.values,
      .writes = step_rows.column_range(0, group),
      .steps = step_rows.column_range(group, group),
      .step_bias = *step_bias,
      .rates = *rates,
  };
  device.delta_rule_scan(scanned, pass.table, scan_place, scratch.out);
  const View out_heads = rows_of(scratch.out, size.value_size());
  norm(device, out_heads, out_heads);
  device.gate_multiply(scratch.gate, scratch.out, Activation::silu, scratch.out);
  output(device, scratch.out, out);
  device.all_reduce(out);
}

}  // namespace plm
