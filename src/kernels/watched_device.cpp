#include "kernels/watched_device.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/clock.h"

namespace plm {
namespace {

std::uint64_t matrix_bytes(const Weight* weight) {
  return weight == nullptr ? 0 : weight->outputs * weight->type->row_bytes(weight->inputs);
}

std::uint64_t bytes_of(const Weight* weight) { return weight == nullptr ? 0 : weight->count * matrix_bytes(weight); }

// Cells that some row of each sequence sees.
std::uint64_t seen_cells(const RowTable& table) {
  std::uint64_t cells = 0;
  for (std::size_t first = 0; first < table.rows.size();) {
    std::uint32_t begin = table.rows[first].begin, end = 0;
    std::size_t row = first;
    for (; row < table.rows.size() && table.rows[row].sequence == table.rows[first].sequence; ++row) {
      const RowSight& sight = table.rows[row];
      begin = std::min(begin, sight.begin);
      end = std::max({end, sight.end, sight.own_begin + sight.own_count});
    }
    cells += end > begin ? end - begin : 0;
    first = row;
  }
  return cells;
}

}  // namespace

template <typename Enqueue>
void WatchedDevice::watch(std::string_view name, const Reads& reads, const Enqueue& enqueue) {
  const Stopwatch watch;
  enqueue();
  wait_for_it();
  watcher_.on_operation(*device_, {name, watch.elapsed_ms(), reads.weight_bytes, reads.state_bytes});
}

void WatchedDevice::wait_for_it() {
  Result<void> done = device_->wait();
  if (!done.has_value() && !failure_.has_value()) failure_ = std::move(done.error());
}

Result<void> WatchedDevice::wait() {
  if (!failure_.has_value()) return device_->wait();
  Error error = std::move(*failure_);
  failure_.reset();
  return tl::unexpected<Error>(std::move(error));
}

void WatchedDevice::upload(const View& to, std::span<const std::byte> from) {
  watch("upload", {}, [&] { device_->upload(to, from); });
}

void WatchedDevice::download(const View& from, std::span<std::byte> to) {
  watch("download", {}, [&] { device_->download(from, to); });
}

void WatchedDevice::copy(Storage& to, const Storage& from) {
  watch("copy", {}, [&] { device_->copy(to, from); });
}

void WatchedDevice::copy(const View& to, const View& from) {
  watch("copy", {}, [&] { device_->copy(to, from); });
}

void WatchedDevice::gather_rows(const View& in, std::span<const std::uint32_t> indices, const View& out) {
  watch("gather_rows", {}, [&] { device_->gather_rows(in, indices, out); });
}

void WatchedDevice::embed(const Weight& table, std::span<const std::int32_t> ids, const View& out, float factor) {
  const std::uint64_t bytes = ids.size() * table.type->row_bytes(table.inputs);
  watch("embed", {.weight_bytes = bytes}, [&] { device_->embed(table, ids, out, factor); });
}

void WatchedDevice::linear(const Weight& weight, const View& in, const View& out, const Weight* bias) {
  watch("linear", {.weight_bytes = bytes_of(&weight) + bytes_of(bias)},
        [&] { device_->linear(weight, in, out, bias); });
}

void WatchedDevice::head_linear(const Weight& weight, const View& in, const View& out) {
  watch("head_linear", {.weight_bytes = bytes_of(&weight)}, [&] { device_->head_linear(weight, in, out); });
}

void WatchedDevice::rms_norm(const View& in, const Weight& gain, float epsilon, const View& out) {
  watch("rms_norm", {.weight_bytes = bytes_of(&gain)}, [&] { device_->rms_norm(in, gain, epsilon, out); });
}

void WatchedDevice::rope(const View& x, std::size_t head_dim, const View& angles, RopeLayout layout) {
  watch("rope", {}, [&] { device_->rope(x, head_dim, angles, layout); });
}

void WatchedDevice::hadamard(const View& x, std::size_t block) {
  watch("hadamard", {}, [&] { device_->hadamard(x, block); });
}

void WatchedDevice::store_kv(const View& keys, const View& values, const RowTable& table, const KvPlace& place) {
  watcher_.on_keys(*device_, keys, table, place);
  watch("store_kv", {}, [&] { device_->store_kv(keys, values, table, place); });
}

void WatchedDevice::attention(const View& queries, const RowTable& table, const KvPlace& place, ScoreRule rule,
                              const View& out) {
  watcher_.on_queries(*device_, queries, table, place, rule);
  const std::uint64_t bytes = seen_cells(table) * place.bytes() / kPageCells;
  watch("attention", {.state_bytes = bytes}, [&] { device_->attention(queries, table, place, rule, out); });
}

void WatchedDevice::gate_multiply(const View& gate, const View& up, Activation activation, const View& out) {
  watch("gate_multiply", {}, [&] { device_->gate_multiply(gate, up, activation, out); });
}

void WatchedDevice::soft_cap(const View& x, float cap) {
  watch("soft_cap", {}, [&] { device_->soft_cap(x, cap); });
}

void WatchedDevice::add(const View& x, const View& y) {
  watch("add", {}, [&] { device_->add(x, y); });
}

void WatchedDevice::scale(const View& x, float factor) {
  watch("scale", {}, [&] { device_->scale(x, factor); });
}

void WatchedDevice::causal_conv(const View& in, const RowTable& table, const ConvPlace& place,
                                const ConvWeights& weights, const View& out) {
  const Reads reads{bytes_of(&weights.taps) + bytes_of(weights.bias), place.bytes() * table.runs.size()};
  watch("causal_conv", reads, [&] { device_->causal_conv(in, table, place, weights, out); });
}

void WatchedDevice::state_space_scan(const StateSpaceInputs& in, const RowTable& table, const ScanPlace& place,
                                     const View& out) {
  watch("state_space_scan", {.state_bytes = place.bytes() * table.runs.size()},
        [&] { device_->state_space_scan(in, table, place, out); });
}

void WatchedDevice::delta_rule_scan(const DeltaRuleInputs& in, const RowTable& table, const ScanPlace& place,
                                    const View& out) {
  watch("delta_rule_scan", {.state_bytes = place.bytes() * table.runs.size()},
        [&] { device_->delta_rule_scan(in, table, place, out); });
}

void WatchedDevice::route(const View& scores, const RouterRule& rule, const Weight* bias, const View& routing) {
  watch("route", {.weight_bytes = bytes_of(bias)}, [&] { device_->route(scores, rule, bias, routing); });
}

// Of the experts that some row chose, each once.
std::uint64_t WatchedDevice::read_expert_bytes(const ExpertWeights& weights, const View& routing) {
  std::vector<float> numbers(routing.rows * routing.columns);
  device_->download(routing, std::as_writable_bytes(std::span(numbers)));
  wait_for_it();
  std::set<float> chosen;
  for (std::size_t row = 0; row < routing.rows; ++row) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(row * routing.columns);
    chosen.insert(first, first + static_cast<std::ptrdiff_t>(routing.columns / 2));
  }
  return chosen.size() * (matrix_bytes(weights.gate) + matrix_bytes(weights.up) + matrix_bytes(weights.down));
}

void WatchedDevice::experts(const ExpertWeights& weights, const View& in, const View& routing,
                            const ExpertScratch& scratch, const View& out) {
  watch("experts", {.weight_bytes = read_expert_bytes(weights, routing)},
        [&] { device_->experts(weights, in, routing, scratch, out); });
}

void WatchedDevice::add_gated(const View& x, const View& y, const View& gates) {
  watch("add_gated", {}, [&] { device_->add_gated(x, y, gates); });
}

void WatchedDevice::layer_norm(const View& in, const Weight& gain, const Weight* bias, float epsilon, const View& out) {
  watch("layer_norm", {.weight_bytes = bytes_of(&gain) + bytes_of(bias)},
        [&] { device_->layer_norm(in, gain, bias, epsilon, out); });
}

void WatchedDevice::apply(const View& x, Curve curve) {
  watch("apply", {}, [&] { device_->apply(x, curve); });
}

void WatchedDevice::all_reduce(const View& x) {
  watch("all_reduce", {}, [&] { device_->all_reduce(x); });
}

void WatchedDevice::statistics(const View& logits, std::span<RowStatistics> statistics) {
  watch("statistics", {}, [&] { device_->statistics(logits, statistics); });
}

void WatchedDevice::top_n(const View& logits, std::size_t n, std::span<TokenScore> top) {
  watch("top_n", {}, [&] { device_->top_n(logits, n, top); });
}

}  // namespace plm
