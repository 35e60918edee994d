#include "model/layers/mamba.h"

namespace plm {

Result<void> Mamba::load(WeightReader& reader, const std::string& prefix, float norm_epsilon, RecurrentBlocks& blocks) {
  const MatrixSize in{.outputs = mamba_input_columns(size), .inputs = size.hidden_size};
  const MatrixSize out{.outputs = size.hidden_size, .inputs = size.inner_size};
  const MatrixSize conv{.outputs = size.conv_columns(), .inputs = size.taps};
  PLM_TRY_ASSIGN(input, Linear::load(reader, prefix + ".ssm_in", WeightRole::recurrent_input, in));
  PLM_TRY_ASSIGN(taps, reader.matrix(prefix + ".ssm_conv1d.weight", WeightRole::convolution, conv));
  if (reader.has(prefix + ".ssm_conv1d.bias")) {
    PLM_TRY_ASSIGN(conv_bias, reader.vector(prefix + ".ssm_conv1d.bias", WeightRole::bias, conv.outputs));
  }
  PLM_TRY_ASSIGN(step_bias, reader.vector(prefix + ".ssm_dt.bias", WeightRole::bias, size.heads));
  PLM_TRY_ASSIGN(rates, reader.column(prefix + ".ssm_a", WeightRole::bias, size.heads));
  PLM_TRY_ASSIGN(skips, reader.column(prefix + ".ssm_d", WeightRole::bias, size.heads));
  PLM_TRY(load_norms(reader, prefix + ".ssm_norm.weight", norm_epsilon));
  PLM_TRY_ASSIGN(output, Linear::load(reader, prefix + ".ssm_out", WeightRole::recurrent_output, out));
  conv_place = blocks.conv(size.conv_columns(), size.taps);
  scan_place = blocks.scan(size);
  return {};
}

// The gains are a matrix with a row for each group.
Result<void> Mamba::load_norms(WeightReader& reader, const std::string& name, float epsilon) {
  norms.clear();
  if (!reader.has(name)) return {};
  const MatrixSize row{.outputs = 1, .inputs = size.inner_size / size.groups};
  for (std::size_t group = 0; group < size.groups; ++group) {
    RmsNorm& norm = norms.emplace_back();
    norm.epsilon = epsilon;
    PLM_TRY_ASSIGN(norm.gain, reader.matrix_rows(name, WeightRole::norm, row, {group, size.groups}));
  }
  return {};
}

void Mamba::operator()(const LayerPass& pass, const MambaScratch& scratch, const View& in, const View& out) const {
  Device& device = pass.device;
  const std::size_t inner = size.inner_size, keys = size.key_columns();
  input(device, in, scratch.inputs);
  const View gate = scratch.inputs.column_range(0, inner);
  const View mixing = scratch.inputs.column_range(inner, size.conv_columns());
  device.causal_conv(mixing, pass.table, conv_place, {*taps, conv_bias.get()}, scratch.mixed);
  const StateSpaceInputs scanned{
      .values = scratch.mixed.column_range(0, inner),
      .keys = scratch.mixed.column_range(inner, keys),
      .queries = scratch.mixed.column_range(inner + keys, keys),
      .steps = scratch.inputs.column_range(inner + size.conv_columns(), size.heads),
      .step_bias = *step_bias,
      .rates = *rates,
      .skips = *skips,
  };
  device.state_space_scan(scanned, pass.table, scan_place, scratch.out);
  device.gate_multiply(gate, scratch.out, Activation::silu, scratch.out);
  const std::size_t width = norms.empty() ? 0 : inner / norms.size();
  for (std::size_t group = 0; group < norms.size(); ++group) {
    const View columns = scratch.out.column_range(group * width, width);
    norms[group](device, columns, columns);
  }
  output(device, scratch.out, out);
  device.all_reduce(out);
}

}  // namespace plm
