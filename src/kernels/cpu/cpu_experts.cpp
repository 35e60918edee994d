// Weights of several matrices on the CPU device, one for each expert or head: the part of CpuDevice that turns them
// into work. The rows of experts are copied behind one another expert by expert, so that all products are those of any
// other matrix, on runs of rows. Tested by tests/kernels/cpu/test_cpu_experts.cpp and test_linear.cpp.
#include <algorithm>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/cpu_views.h"

namespace plm {
namespace {

// Barriers know the lists by the object, as their contents may yet move.
std::span<const std::byte> object_bytes(const ExpertLists& lists) { return std::as_bytes(std::span(&lists, 1)); }

Floats rows_of(const Floats& all, Share rows) {
  return {all.row(rows.begin), rows.end - rows.begin, all.columns, all.stride};
}

const float* bias_of(const Weight* bias, const Weight& weight) {
  if (bias == nullptr) return nullptr;
  PLM_CHECK(bias->count == weight.count);
  return vector_of(*bias, weight.outputs);
}

}  // namespace

void CpuDevice::route(const View& scores, const RouterRule& rule, const Weight* bias, const View& routing) {
  const std::size_t experts = scores.columns;
  PLM_CHECK(experts <= RouterRule::kMostExperts && routing.rows == scores.rows && routing.columns == 2 * rule.used);
  PLM_CHECK(rule.groups > 0 && experts % rule.groups == 0 && rule.used_groups <= rule.groups);
  PLM_CHECK(rule.group_best <= experts / rule.groups && rule.used <= experts / rule.groups * rule.used_groups);
  const float* numbers = bias != nullptr ? vector_of(*bias, experts) : nullptr;
  enqueue(RouteWork{floats_of(scores), rule, numbers, floats_of(routing)},
          {reads(floats_of(scores)), writes(floats_of(routing))});
}

void CpuDevice::experts(const ExpertWeights& weights, const View& in, const View& routing, const ExpertScratch& scratch,
                        const View& out) {
  const std::size_t used = routing.columns / 2, experts = weights.gate->count;
  PLM_CHECK(routing.columns % 2 == 0 && routing.rows == in.rows && same_shape(in, out));
  PLM_CHECK(scratch.rows.rows == in.rows * used && scratch.rows.columns == in.columns);
  PLM_CHECK(in.rows == 0 || bytes_of(in) != bytes_of(out));
  const Floats from = floats_of(in), choices = floats_of(routing), rows = floats_of(scratch.rows), to = floats_of(out);
  expert_lists_.reserve(in.rows, used, experts);
  const auto lists = object_bytes(expert_lists_);
  enqueue(ExpertListWork{choices, experts, &expert_lists_}, {reads(choices), writes(lists)});
  enqueue(ExpertRowsWork{from, &expert_lists_, rows}, {reads(from), reads(lists), writes(rows)});
  expert_linear(*weights.gate, weights.gate_bias, scratch.rows, scratch.gate);
  expert_linear(*weights.up, weights.up_bias, scratch.rows, scratch.up);
  gate_multiply(scratch.gate, scratch.up, weights.activation, scratch.gate);
  expert_linear(*weights.down, weights.down_bias, scratch.gate, scratch.rows);
  enqueue(ExpertSumWork{rows, choices, &expert_lists_, to}, {reads(rows), reads(choices), reads(lists), writes(to)});
}

void CpuDevice::expert_linear(const Weight& weight, const Weight* bias, const View& in, const View& out) {
  PLM_CHECK(in.columns == weight.inputs && out.columns == weight.outputs && in.rows == out.rows);
  const Floats from = floats_of(in), to = floats_of(out);
  const auto lists = object_bytes(expert_lists_);
  ExpertLinearWork work{.weight = &weight_of(weight),
                        .in = from,
                        .rounded = {},
                        .is_integer = rounds_for(weight),
                        .out = to,
                        .bias = bias_of(bias, weight),
                        .lists = &expert_lists_};
  if (!work.is_integer) return enqueue(work, {reads(from), reads(lists), writes(to)});
  if (!round_or_fail(from)) return;
  work.rounded = rounded_.out;
  enqueue(work, {reads(rounded_.memory.bytes()), reads(lists), writes(to)});
}

void CpuDevice::head_linear(const Weight& weight, const View& in, const View& out) {
  PLM_CHECK(in.rows == out.rows && in.columns % weight.count == 0 && out.columns % weight.count == 0);
  PLM_CHECK(in.columns / weight.count >= weight.inputs && out.columns / weight.count >= weight.outputs);
  enqueue(HeadLinearWork{&weight_of(weight), floats_of(in), floats_of(out)},
          {reads(floats_of(in)), writes(floats_of(out))});
}

void CpuDevice::add_gated(const View& x, const View& y, const View& gates) {
  PLM_CHECK(same_shape(x, y) && gates.rows == x.rows && gates.columns == 1);
  enqueue(AddGatedWork{floats_of(x), floats_of(y), floats_of(gates)},
          {writes(floats_of(x)), reads(floats_of(y)), reads(floats_of(gates))});
}

void copy_expert_rows(const ExpertRowsWork& work, Share places) {
  for (std::size_t p = places.begin; p < places.end; ++p) {
    std::copy_n(work.in.row(work.lists->row_at(p)), work.in.columns, work.out.row(p));
  }
}

void multiply_experts(const KernelTable& kernels, const ExpertLinearWork& work, int member, int members) {
  const CpuWeight& weight = *work.weight;
  const std::size_t panels = panel_count(weight.outputs);
  work.lists->for_each_share(panels, member, members, [&](std::size_t expert, Share places, Share share) {
    const Share outputs{share.begin * kPanelOutputs, std::min(share.end * kPanelOutputs, weight.outputs)};
    const float* bias = work.bias != nullptr ? work.bias + expert * weight.outputs : nullptr;
    const Floats out = rows_of(work.out, places);
    if (work.is_integer) {
      const RoundedRows in = work.rounded.row_range(places.begin, places.end - places.begin);
      kernels.integer_linear(IntegerLinearWork{&weight, in, out, bias, expert}, outputs);
    } else {
      kernels.linear(LinearWork{&weight, rows_of(work.in, places), out, bias, expert}, outputs);
    }
  });
}

void multiply_heads(const KernelTable& kernels, const HeadLinearWork& work, Share panels) {
  const CpuWeight& weight = *work.weight;
  const std::size_t head_panels = panel_count(weight.outputs);
  for (std::size_t begin = panels.begin; begin < panels.end;) {
    const std::size_t head = begin / head_panels, first = head * head_panels;
    const std::size_t end = std::min(panels.end, first + head_panels);
    const Floats in{work.in.data + head * (work.in.columns / weight.count), work.in.rows, weight.inputs,
                    work.in.stride};
    const Floats out{work.out.data + head * (work.out.columns / weight.count), work.out.rows, weight.outputs,
                     work.out.stride};
    const Share outputs{(begin - first) * kPanelOutputs, std::min((end - first) * kPanelOutputs, weight.outputs)};
    kernels.linear(LinearWork{&weight, in, out, nullptr, head}, outputs);
    begin = end;
  }
}

}  // namespace plm
