#include "plan/latency.h"

#include <algorithm>
#include <cmath>

namespace plm {

double rate_at(const RateCurve& curve, double size) {
  PLM_CHECK(!curve.empty());
  if (size <= curve.front().first) return curve.front().second;
  if (size >= curve.back().first) return curve.back().second;
  const auto next = std::ranges::find_if(curve, [size](const auto& point) { return size <= point.first; });
  const auto [x0, y0] = *(next - 1);
  const auto [x1, y1] = *next;
  return y0 + (std::log(size) - std::log(x0)) / (std::log(x1) - std::log(x0)) * (y1 - y0);
}

double MachineRates::linear_rate(double rows) const {
  return linear.empty() ? linear_limit * rows / (rows + linear_half) : rate_at(linear, rows);
}

PassTime pass_time(const MachineRates& machine, const PassModel& model, const PassSize& size) {
  const bool has_head = size.head_rows > 0;
  const double weights = model.body_bytes + (has_head ? model.head_bytes : 0);
  const double bandwidth = rate_at(machine.bandwidth, weights + size.kv_bytes);
  PassTime time;
  const double reading = model.body_bytes / bandwidth;
  const double computing = 2 * model.body_parameters * size.rows / machine.linear_rate(size.rows);
  time.body = std::max(reading, computing);
  time.body_reads = reading > computing;
  if (has_head) {
    time.head = std::max(model.head_bytes / bandwidth,
                         2 * model.head_parameters * size.head_rows / machine.linear_rate(size.head_rows));
  }
  const double scores = 4 * model.layers * model.q_heads * model.head_size * size.seen_keys;
  time.attention = std::max(size.kv_bytes / bandwidth, machine.attention > 0 ? scores / machine.attention : 0);
  time.barriers = model.layers * machine.barriers_per_layer * machine.barrier;
  time.rest = machine.fixed + size.head_rows * machine.per_draw;
  return time;
}

PassTime decode_time(const MachineRates& machine, const PassModel& model, double keys, double batch) {
  return pass_time(
      machine, model,
      {.rows = batch, .head_rows = batch, .kv_bytes = batch * keys * model.kv_per_token, .seen_keys = batch * keys});
}

double prefill_time(const MachineRates& machine, const PassModel& model, std::uint64_t tokens, std::uint64_t chunk) {
  double sum = 0;
  for (std::uint64_t done = 0; done < tokens;) {
    const std::uint64_t rows = std::min(chunk, tokens - done), end = done + rows;
    const auto first = static_cast<double>(done + 1), last = static_cast<double>(end);
    const PassSize size{.rows = static_cast<double>(rows),
                        .head_rows = end == tokens ? 1.0 : 0.0,
                        .kv_bytes = last * model.kv_per_token,
                        .seen_keys = (first + last) * static_cast<double>(rows) / 2};
    sum += pass_time(machine, model, size).total();
    done = end;
  }
  return sum;
}

PassTime block_time(const MachineRates& machine, const PassModel& model, double past, double block, double head_rows) {
  return pass_time(machine, model,
                   {.rows = block,
                    .head_rows = head_rows,
                    .kv_bytes = (past + block) * model.kv_per_token,
                    .seen_keys = block * (past + block)});
}

double writing_time(const MachineRates& machine, const PassModel& model, std::uint64_t past, std::uint64_t tokens) {
  double sum = 0;
  for (std::uint64_t i = 1; i <= tokens; ++i) {
    sum += decode_time(machine, model, static_cast<double>(past + i)).total();
  }
  return sum;
}

double block_writing_time(const MachineRates& machine, const PassModel& model, const BlockWriting& writing) {
  const auto block = static_cast<double>(writing.block);
  const double passes = std::ceil(block / writing.per_pass);
  double sum = 0;
  for (std::uint64_t done = 0; done < writing.tokens; done += writing.block) {
    const auto past = static_cast<double>(writing.past + done);
    sum += passes * block_time(machine, model, past, block, block).total();
    if (writing.keeps) sum += block_time(machine, model, past, block, 0).total();
  }
  return sum;
}

std::optional<double> even_tokens_per_pass(double one, double block_pass, double keep, double block) {
  const double left = block * one - keep;
  if (left <= 0) return std::nullopt;
  return block * block_pass / left;
}

}  // namespace plm
