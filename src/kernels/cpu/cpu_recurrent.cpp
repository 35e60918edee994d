// The operations of recurrent layers on the CPU device: checked and recorded, as in kernels/cpu/cpu_device.cpp.
// Tested by tests/kernels/cpu/test_recurrent.cpp.
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/cpu_views.h"

namespace plm {
namespace {

// The runs cover the rows in order, and every block holds the bytes [offset, end).
void check_runs(const RowTable& table, std::size_t rows, std::size_t offset, std::size_t end) {
  std::size_t next = 0;
  PLM_CHECK(offset % sizeof(float) == 0);
  for (const RecurrentRun& run : table.runs) {
    PLM_CHECK(run.first_row == next && run.block != nullptr && run.block->size() >= end);
    next += run.row_count;
    PLM_CHECK(std::size_t{run.first_save} + run.save_count <= table.saves.size());
    std::size_t least = run.first_row;
    for (const RecurrentSave& save : table.saves.subspan(run.first_save, run.save_count)) {
      PLM_CHECK(save.row >= least && save.row < next && save.to != nullptr && save.to->size() >= end);
      PLM_CHECK(save.to != run.block);
      least = save.row + std::size_t{1};
    }
  }
  PLM_CHECK(next == rows);
}

// The blocks as one run of bytes. It may take in what lies between them, which only costs a barrier.
std::span<const std::byte> blocks_of(const RowTable& table) {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const auto take_in = [&](const Storage& block) {
    const std::byte* first = bytes_of(block);
    if (begin == nullptr || first < begin) begin = first;
    if (end == nullptr || first + block.size() > end) end = first + block.size();
  };
  for (const RecurrentRun& run : table.runs) take_in(*run.block);
  for (const RecurrentSave& save : table.saves) take_in(*save.to);
  return {begin, end};
}

}  // namespace

std::vector<float> tap_major(const WeightSource& source) {
  std::vector<float> rows(source.outputs * source.inputs), turned(rows.size());
  source.type->unpack(source.bytes.data(), rows.data(), rows.size() / source.type->block_size);
  for (std::size_t channel = 0; channel < source.outputs; ++channel) {
    for (std::size_t tap = 0; tap < source.inputs; ++tap) {
      turned[tap * source.outputs + channel] = rows[channel * source.inputs + tap];
    }
  }
  return turned;
}

void CpuDevice::causal_conv(const View& in, const RowTable& table, const ConvPlace& place, const ConvWeights& weights,
                            const View& out) {
  PLM_CHECK(same_shape(in, out) && in.columns == place.channels && place.taps > 0);
  PLM_CHECK(weights.taps.role == WeightRole::convolution);
  PLM_CHECK(weights.taps.outputs == place.channels && weights.taps.inputs == place.taps);
  check_runs(table, in.rows, place.offset, place.offset + place.bytes());
  const float* bias = weights.bias != nullptr ? vector_of(*weights.bias, place.channels) : nullptr;
  enqueue(ConvWork{.in = floats_of(in),
                   .runs = table.runs,
                   .saves = table.saves,
                   .place = place,
                   .taps = weight_of(weights.taps).numbers.data(),
                   .bias = bias,
                   .out = floats_of(out)},
          {reads(floats_of(in)), writes(blocks_of(table)), writes(floats_of(out))});
}

void CpuDevice::state_space_scan(const StateSpaceInputs& in, const RowTable& table, const ScanPlace& place,
                                 const View& out) {
  PLM_CHECK(same_shape(in.values, out) && out.columns == place.heads * place.value_size);
  PLM_CHECK(same_shape(in.keys, in.queries) && in.keys.columns % place.key_size == 0 && in.keys.columns > 0);
  PLM_CHECK(place.heads % (in.keys.columns / place.key_size) == 0 && in.steps.columns == place.heads);
  PLM_CHECK(in.keys.rows == out.rows && in.steps.rows == out.rows);
  check_runs(table, out.rows, place.offset, place.offset + place.bytes());
  enqueue(StateSpaceWork{.values = floats_of(in.values),
                         .keys = floats_of(in.keys),
                         .queries = floats_of(in.queries),
                         .steps = floats_of(in.steps),
                         .step_bias = vector_of(in.step_bias, place.heads),
                         .rates = vector_of(in.rates, place.heads),
                         .skips = vector_of(in.skips, place.heads),
                         .runs = table.runs,
                         .saves = table.saves,
                         .place = place,
                         .out = floats_of(out)},
          {reads(floats_of(in.values)), reads(floats_of(in.keys)), reads(floats_of(in.queries)),
           reads(floats_of(in.steps)), writes(blocks_of(table)), writes(floats_of(out))});
}

void CpuDevice::delta_rule_scan(const DeltaRuleInputs& in, const RowTable& table, const ScanPlace& place,
                                const View& out) {
  PLM_CHECK(same_shape(in.values, out) && out.columns == place.heads * place.value_size);
  PLM_CHECK(same_shape(in.keys, in.queries) && in.keys.columns % place.key_size == 0 && in.keys.columns > 0);
  const std::size_t key_heads = in.keys.columns / place.key_size;
  PLM_CHECK(place.heads % key_heads == 0 && in.keys.rows == out.rows && same_shape(in.writes, in.steps));
  PLM_CHECK(in.steps.rows == out.rows * key_heads && in.steps.columns == place.heads / key_heads);
  check_runs(table, out.rows, place.offset, place.offset + place.bytes());
  enqueue(DeltaRuleWork{.queries = floats_of(in.queries),
                        .keys = floats_of(in.keys),
                        .values = floats_of(in.values),
                        .writes = floats_of(in.writes),
                        .steps = floats_of(in.steps),
                        .step_bias = vector_of(in.step_bias, place.heads),
                        .rates = vector_of(in.rates, place.heads),
                        .runs = table.runs,
                        .saves = table.saves,
                        .place = place,
                        .out = floats_of(out)},
          {reads(floats_of(in.queries)), reads(floats_of(in.keys)), reads(floats_of(in.values)),
           reads(floats_of(in.writes)), reads(floats_of(in.steps)), writes(blocks_of(table)), writes(floats_of(out))});
}

}  // namespace plm
