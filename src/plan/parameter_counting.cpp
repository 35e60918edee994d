#include "plan/parameter_counting.h"

#include <cmath>

namespace plm {
namespace {

// The weights of one mixer on `d` numbers; nothing where the sketch does not say enough.
struct MixerCount {
  std::uint64_t d;

  std::optional<std::uint64_t> operator()(const AttentionMixer& m) const {
    const std::uint64_t queries = m.q_heads * m.head_size;
    const std::uint64_t value_size = m.value_size > 0 ? m.value_size : m.head_size;
    const std::uint64_t keys = m.kv_heads * m.head_size, values = m.kv_heads * value_size;
    const std::uint64_t mixed = m.q_heads * value_size;
    std::uint64_t count = d * queries * (m.has_gate ? 2 : 1) + mixed * d + d * keys;
    if (!m.values_are_keys) count += d * values;
    if (m.has_qkv_bias) count += queries + keys + values;
    if (m.has_output_bias) count += d;
    if (m.has_head_norms) count += 2 * m.head_size;
    if (m.has_sinks) count += m.q_heads;
    return count;
  }

  std::optional<std::uint64_t> operator()(const LatentMixer& m) const {
    const std::uint64_t queries = m.q_heads * (m.plain_size + m.rope_size);
    const std::uint64_t of_queries = m.q_rank > 0 ? d * m.q_rank + m.q_rank + m.q_rank * queries : d * queries;
    const std::uint64_t down = d * (m.kv_rank + m.rope_size) + m.kv_rank;
    const std::uint64_t up = m.kv_rank * m.q_heads * (m.plain_size + m.value_size);
    return of_queries + down + up + m.q_heads * m.value_size * d;
  }

  std::optional<std::uint64_t> operator()(const StateSpaceMixer& m) const {
    const std::uint64_t keys = 2 * m.groups * m.state_size, channels = m.inner_size + keys;
    const std::uint64_t in = d * (2 * m.inner_size + keys + m.heads);
    const std::uint64_t conv = channels * (m.taps + (m.has_conv_bias ? 1 : 0));
    return in + conv + 3 * m.heads + m.inner_size * d + (m.has_gated_norm ? m.inner_size : 0);
  }

  std::optional<std::uint64_t> operator()(const DeltaMixer& m) const {
    const std::uint64_t keys = m.key_heads * m.key_size, values = m.value_heads * m.value_size;
    const std::uint64_t in = d * (2 * keys + 2 * values) + d * 2 * m.value_heads;
    return in + (2 * keys + values) * m.taps + 2 * m.value_heads + m.value_size + values * d;
  }

  std::optional<std::uint64_t> operator()(const ChannelDeltaMixer&) const { return std::nullopt; }

  std::optional<std::uint64_t> operator()(const ShortConvMixer& m) const { return 3 * d * d + d * m.taps + d * d; }
};

std::uint64_t network_parameters(const FeedForwardSketch& network, std::uint64_t size, bool has_bias, std::uint64_t d) {
  const std::uint64_t count = (network.is_gated ? 3 : 2) * d * size;
  return has_bias ? count + (network.is_gated ? 2 : 1) * size + d : count;
}

void add_feed_forward(const FeedForwardSketch& network, std::uint64_t d, LayerParameters& sum) {
  const std::uint64_t one = network_parameters(network, network.size, network.has_bias, d);
  if (network.experts == 0) {
    sum.feed_forward += one;
    sum.met += one;
    return;
  }
  std::uint64_t always = d * network.experts + network.router_extra;
  if (network.shared_size > 0) always += network_parameters(network, network.shared_size, false, d);
  if (network.has_shared_gate) always += d;
  always += 3 * d * network.dense_size;
  sum.feed_forward += always + network.experts * one;
  sum.met += always + network.used * one;
}

CountedParameters stated_parameters(const StatedCounts& stated) {
  CountedParameters counts{.stored = stated.total, .active = {}, .multiplied = {}, .without_embeddings = {}};
  if (stated.of_experts > 0 && stated.experts > 0) {
    counts.active = stated.total - stated.of_experts / stated.experts * (stated.experts - stated.used);
  }
  return counts;
}

}  // namespace

std::optional<LayerParameters> layer_parameters(const LayerSketch& layer, std::uint64_t hidden) {
  LayerParameters sum{.rest = layer.norm + layer.extra};
  for (const Mixer& mixer : layer.mixers) {
    const auto count = std::visit(MixerCount{hidden}, mixer);
    if (!count.has_value()) return std::nullopt;
    sum.mixers += *count;
  }
  if (layer.feed_forward.has_value()) add_feed_forward(*layer.feed_forward, hidden, sum);
  return sum;
}

Result<CountedParameters> count_parameters(const ModelSketch& sketch) {
  if (sketch.stated.has_value()) return stated_parameters(*sketch.stated);
  if (sketch.has_untold_weights) {
    return fail(ErrorKind::usage,
                "{}: networks of the family {} have more weights than their sizes tell; give a file "
                "with a tensor table",
                sketch.name, sketch.family);
  }
  std::uint64_t stored = 0, active = 0;
  for (std::size_t index = 0; index < sketch.layers.size(); ++index) {
    const auto layer = layer_parameters(sketch.layer(index), sketch.hidden);
    if (!layer.has_value()) {
      return fail(ErrorKind::usage,
                  "{}: layer {}: its weights are not told by their sizes; give a file with a tensor "
                  "table",
                  sketch.name, index);
    }
    stored += layer->mixers + layer->feed_forward + layer->rest;
    active += layer->mixers + layer->met + layer->rest;
  }
  const std::uint64_t table = sketch.vocabulary * sketch.hidden;
  const std::uint64_t head = sketch.is_tied || !sketch.has_head ? 0 : table;
  const std::uint64_t rest = table + head + sketch.embedding_extra + sketch.final;
  // A table that is the head as well is multiplied once; any other is looked up only.
  const std::uint64_t looked_up = (sketch.is_tied && sketch.has_head ? 0 : table) + sketch.looked_up_extra;
  stored += rest;
  active += rest;
  return CountedParameters{.stored = stored,
                           .active = active,
                           .multiplied = active - looked_up,
                           .without_embeddings = stored - table - head};
}

double met_experts(std::uint64_t experts, std::uint64_t used, std::uint64_t rows) {
  if (experts == 0) return 0;
  const auto all = static_cast<double>(experts);
  return all * (1 - std::pow(1 - static_cast<double>(used) / all, static_cast<double>(rows)));
}

}  // namespace plm
