#include "model/layers/hybrid_model.h"

#include <algorithm>

namespace plm {
namespace {

bool has_kv(Mixer mixer) {
  return mixer == Mixer::attention || mixer == Mixer::gated_attention || mixer == Mixer::attention_and_mamba;
}

}  // namespace

HybridModel::HybridModel(HybridConfig config, Device& device)
    : config_(std::move(config)), device_(device), workspace_(device) {
  PLM_CHECK(config_.mixers.size() == config_.shape.layer_count);
  output_head_.scale = config_.logit_scale;
  std::size_t kv_layers = 0;
  for (const Mixer mixer : config_.mixers) {
    kv_layers_.push_back(kv_layers);
    if (has_kv(mixer)) ++kv_layers;
  }
}

Result<std::unique_ptr<Model>> HybridModel::load(ModelFile& file, Device& device, HybridConfig config) {
  std::unique_ptr<HybridModel> model(new HybridModel(std::move(config), device));
  WeightReader look(file), take(file, device);
  PLM_TRY(model->load_weights(look));
  PLM_TRY(file.refuse_unread());
  PLM_TRY(model->load_weights(take));
  return model;
}

Result<void> HybridModel::load_weights(WeightReader& reader) {
  const ModelShape& shape = config_.shape;
  const MatrixSize table{.outputs = shape.vocab_size, .inputs = shape.hidden_size};
  PLM_TRY_ASSIGN(embedding_, reader.matrix("token_embd.weight", WeightRole::embedding, table));
  layers_.clear();
  blocks_.clear();
  for (std::size_t index = 0; index < shape.layer_count; ++index) PLM_TRY(load_layer(reader, index));
  PLM_TRY_ASSIGN(final_norm_, RmsNorm::load(reader, "output_norm", shape.hidden_size, config_.norm_epsilon));
  const bool tied = !reader.has("output.weight");
  PLM_TRY_ASSIGN(head_, reader.matrix(tied ? "token_embd.weight" : "output.weight", WeightRole::head, table));
  return {};
}

Result<void> HybridModel::load_layer(WeightReader& reader, std::size_t index) {
  const std::string prefix = fmt::format("blk.{}", index);
  Layer& layer = layers_.emplace_back();
  PLM_TRY_ASSIGN(layer.norm, load_norm(reader, prefix + ".attn_norm"));
  PLM_TRY(load_mixers(reader, prefix, config_.mixers[index], layer));
  return load_ffn(reader, prefix, layer);
}

Result<void> HybridModel::load_ffn(WeightReader& reader, const std::string& prefix, Layer& layer) const {
  if (config_.ffn_size == 0 && !config_.experts.has_value()) return {};
  PLM_TRY_ASSIGN(layer.ffn_norm, load_norm(reader, fmt::format("{}.{}", prefix, config_.ffn_norm)));
  const MatrixSize wide{.outputs = config_.ffn_size, .inputs = config_.shape.hidden_size};
  if (!config_.experts.has_value()) return layer.ffn.emplace().load(reader, prefix, wide, false);
  layer.experts.emplace().config = *config_.experts;
  return layer.experts->load(reader, prefix, wide.inputs);
}

// Some converters leave the end of the name out.
Result<RmsNorm> HybridModel::load_norm(WeightReader& reader, const std::string& name) const {
  const std::size_t size = config_.shape.hidden_size;
  if (!reader.has(name)) return RmsNorm::load(reader, name, size, config_.norm_epsilon);
  RmsNorm norm;
  norm.epsilon = config_.norm_epsilon;
  PLM_TRY_ASSIGN(norm.gain, reader.vector(name, WeightRole::norm, size));
  return norm;
}

Result<void> HybridModel::load_mixers(WeightReader& reader, const std::string& prefix, Mixer mixer, Layer& layer) {
  if (mixer == Mixer::attention || mixer == Mixer::attention_and_mamba) {
    Attention& attention = layer.attention.emplace();
    attention.size = config_.attention;
    attention.rope_layout = config_.rope_layout;
    attention.scores = config_.scores;
    PLM_TRY(attention.load(reader, prefix, false));
  }
  if (mixer == Mixer::gated_attention) {
    GatedAttention& attention = layer.gated_attention.emplace();
    attention.size = config_.attention;
    attention.rope_layout = config_.rope_layout;
    attention.scores = config_.scores;
    PLM_TRY(attention.load(reader, prefix, config_.norm_epsilon));
  }
  if (mixer == Mixer::mamba || mixer == Mixer::attention_and_mamba) {
    layer.mamba.emplace().size = config_.recurrent;
    PLM_TRY(layer.mamba->load(reader, prefix, config_.norm_epsilon, blocks_));
  }
  if (mixer == Mixer::delta_net) {
    layer.delta_net.emplace().size = config_.recurrent;
    PLM_TRY(layer.delta_net->load(reader, prefix, config_.norm_epsilon, blocks_));
  }
  return {};
}

Result<StateLayout> HybridModel::state_layout(const KvTypes& types) const {
  StateLayout layout;
  for (const Mixer mixer : config_.mixers) {
    if (!has_kv(mixer)) continue;
    PLM_TRY(layout.add_layer(config_.attention.place(types)));
  }
  layout.block_bytes = blocks_.bytes();
  return layout;
}

bool HybridModel::has(std::initializer_list<Mixer> kinds) const {
  return std::ranges::find_first_of(config_.mixers, kinds) != config_.mixers.end();
}

Result<HybridModel::Activations> HybridModel::take_activations(std::size_t rows) {
  const std::size_t hidden = config_.shape.hidden_size, ffn = config_.ffn_size;
  Activations at;
  const auto take = [&](std::initializer_list<std::pair<View*, std::size_t>> views) -> Result<void> {
    for (const auto& [view, columns] : views) {
      PLM_TRY_ASSIGN(*view, workspace_.take(rows, columns));
    }
    return {};
  };
  PLM_TRY(take({{&at.x, hidden}, {&at.normed, hidden}, {&at.delta, hidden}}));
  if (ffn > 0) PLM_TRY(take({{&at.ffn.gate, ffn}, {&at.ffn.up, ffn}}));
  if (config_.experts.has_value()) PLM_TRY(take_experts(rows, at.experts));
  if (std::ranges::any_of(config_.mixers, has_kv)) {
    AttentionScratch& attention = at.attention.attention;
    const std::size_t q = config_.attention.q_columns(), kv = config_.attention.kv_columns();
    PLM_TRY(take({{&attention.queries, q}, {&attention.mixed, q}, {&attention.keys, kv}, {&attention.values, kv}}));
    if (has({Mixer::gated_attention})) PLM_TRY(take({{&at.attention.queries, 2 * q}}));
  }
  const RecurrentSize& size = config_.recurrent;
  const std::size_t inner = size.inner_size, keys = size.key_columns(), conv = size.conv_columns();
  if (has({Mixer::mamba, Mixer::attention_and_mamba})) {
    PLM_TRY(take({{&at.mamba.inputs, mamba_input_columns(size)}, {&at.mamba.mixed, conv}, {&at.mamba.out, inner}}));
  }
  if (has({Mixer::delta_net})) {
    DeltaNetScratch& delta = at.delta_net;
    PLM_TRY(take({{&delta.inputs, conv}, {&delta.queries, keys}, {&delta.keys, keys}, {&delta.values, inner}}));
    PLM_TRY(take({{&delta.gate, inner}, {&delta.steps, 2 * size.heads}, {&delta.out, inner}}));
  }
  return at;
}

Result<void> HybridModel::take_experts(std::size_t rows, MixtureScratch& at) {
  const ExpertsConfig& experts = *config_.experts;
  const std::size_t chosen = rows * experts.rule.used, hidden = config_.shape.hidden_size;
  PLM_TRY_ASSIGN(at.scores, workspace_.take(rows, experts.count));
  PLM_TRY_ASSIGN(at.routing, workspace_.take(rows, 2 * experts.rule.used));
  PLM_TRY_ASSIGN(at.experts.rows, workspace_.take(chosen, hidden));
  PLM_TRY_ASSIGN(at.experts.gate, workspace_.take(chosen, experts.ffn_size));
  PLM_TRY_ASSIGN(at.experts.up, workspace_.take(chosen, experts.ffn_size));
  if (experts.shared_ffn_size == 0) return {};
  PLM_TRY_ASSIGN(at.shared.gate, workspace_.take(rows, experts.shared_ffn_size));
  PLM_TRY_ASSIGN(at.shared.up, workspace_.take(rows, experts.shared_ffn_size));
  PLM_TRY_ASSIGN(at.shared_out, workspace_.take(rows, hidden));
  PLM_TRY_ASSIGN(at.shared_gate, workspace_.take(rows, 1));
  return {};
}

Result<View> HybridModel::take_angles(std::span<const std::uint32_t> positions) {
  if (!config_.rope.has_value()) return View{};
  const Rope& rope = *config_.rope;
  PLM_TRY_ASSIGN(const View view, workspace_.take(positions.size(), rope.dimensions()));
  angles_.resize(positions.size() * rope.dimensions());
  rope.fill_angles(positions, angles_);
  device_.upload(view, std::as_bytes(std::span(angles_)));
  return view;
}

Result<void> HybridModel::enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const Activations at, take_activations(rows.tokens.size()));
  PLM_TRY_ASSIGN(const View angles, take_angles(rows.positions));
  device_.embed(*embedding_, rows.tokens, at.x, config_.embedding_scale);
  if (probe) probe("embed", at.x);
  const LayerPass pass{device_, rows.table, layout, angles, probe};
  for (std::size_t index = 0; index < layers_.size(); ++index) run_layer(pass, index, at);
  return finish(at.x, at.normed, rows, probe);
}

Result<void> HybridModel::enqueue_head(const View& hidden, const PassRows& rows) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const View normed, workspace_.take(hidden.rows, hidden.columns));
  return finish(hidden, normed, rows, {});
}

Result<void> HybridModel::finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe) {
  final_norm_(device_, hidden, normed);
  if (probe) probe("final_norm", normed);
  return output_head_.enqueue(device_, workspace_, *head_, normed, rows);
}

void HybridModel::run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  const auto add_branch = [&](const char* name) {
    if (pass.probe) pass.report(fmt::format("layer.{}.{}", index, name), at.delta);
    if (config_.residual_scale != 1) pass.device.scale(at.delta, config_.residual_scale);
    pass.device.add(at.x, at.delta);
  };
  layer.norm(pass.device, at.x, at.normed);
  if (layer.attention.has_value()) {
    (*layer.attention)(pass, kv_layers_[index], at.attention.attention, at.normed, at.delta);
    add_branch("attn");
  }
  if (layer.gated_attention.has_value()) {
    (*layer.gated_attention)(pass, kv_layers_[index], at.attention, at.normed, at.delta);
    add_branch("attn");
  }
  if (layer.mamba.has_value()) {
    (*layer.mamba)(pass, at.mamba, at.normed, at.delta);
    add_branch("mamba");
  }
  if (layer.delta_net.has_value()) {
    (*layer.delta_net)(pass, at.delta_net, at.normed, at.delta);
    add_branch("delta_net");
  }
  if (layer.ffn_norm.has_value()) (*layer.ffn_norm)(pass.device, at.x, at.normed);
  if (layer.ffn.has_value()) {
    (*layer.ffn)(pass, at.ffn, at.normed, at.delta);
    add_branch("ffn");
  }
  if (layer.experts.has_value()) {
    (*layer.experts)(pass, at.experts, at.normed, at.delta);
    if (pass.probe) pass.report(fmt::format("layer.{}.routing", index), at.experts.routing);
    add_branch("ffn");
  }
  if (pass.probe) pass.report(fmt::format("layer.{}", index), at.x);
}

}  // namespace plm
