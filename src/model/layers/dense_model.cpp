#include "model/layers/dense_model.h"

#include <algorithm>

#include "model/sequence_head.h"

namespace plm {

DenseModel::DenseModel(DenseConfig config, Device& device)
    : config_(std::move(config)), device_(device), workspace_(device), angles_(config_.ropes.size()) {
  PLM_CHECK(!config_.ropes.empty() && config_.layers.size() == config_.shape.layer_count);
  output_head_.soft_cap = config_.logit_cap;
  for (const LayerKind& kind : config_.layers) {
    PLM_CHECK(kind.rope == LayerKind::kNoRope || kind.rope < config_.ropes.size());
    const bool is_there = std::ranges::any_of(windows_, [&](const auto& w) { return w.window() == kind.window; });
    if (kind.window > 0 && !is_there) windows_.emplace_back(kind.window);
  }
}

Result<std::unique_ptr<Model>> DenseModel::load(ModelFile& file, Device& device, DenseConfig config) {
  std::unique_ptr<DenseModel> model(new DenseModel(std::move(config), device));
  WeightReader look(file), take(file, device);
  PLM_TRY(model->load_weights(look));
  PLM_TRY(file.refuse_unread());
  PLM_TRY(model->load_weights(take));
  return model;
}

Result<void> DenseModel::load_weights(WeightReader& reader) {
  const ModelShape& shape = config_.shape;
  const MatrixSize table{.outputs = shape.vocab_size, .inputs = shape.hidden_size};
  PLM_TRY_ASSIGN(embedding_, reader.matrix("token_embd.weight", WeightRole::embedding, table));
  layers_.clear();
  for (std::size_t index = 0; index < shape.layer_count; ++index) PLM_TRY(load_layer(reader, index));
  PLM_TRY_ASSIGN(final_norm_, RmsNorm::load(reader, "output_norm", shape.hidden_size, config_.norm_epsilon));
  const bool tied = !reader.has("output.weight");
  if (tied && reader.has(kScoreTensor)) return {};  // its scores come from another head
  PLM_TRY_ASSIGN(head_, reader.matrix(tied ? "token_embd.weight" : "output.weight", WeightRole::head, table));
  return {};
}

Result<void> DenseModel::load_layer(WeightReader& reader, std::size_t index) {
  const std::string prefix = fmt::format("blk.{}", index);
  const std::size_t hidden = config_.shape.hidden_size;
  const auto norm = [&](std::string_view name) {
    return RmsNorm::load(reader, fmt::format("{}.{}", prefix, name), hidden, config_.norm_epsilon);
  };
  Layer& layer = layers_.emplace_back();
  if (config_.norms != NormPlacement::after) {
    PLM_TRY_ASSIGN(layer.attention_norm, norm("attn_norm"));
    PLM_TRY_ASSIGN(layer.ffn_norm, norm(config_.ffn_norm_name));
  }
  if (config_.norms != NormPlacement::before) {
    PLM_TRY_ASSIGN(layer.attention_out_norm, norm("post_attention_norm"));
    PLM_TRY_ASSIGN(layer.ffn_out_norm, norm("post_ffw_norm"));
  }
  PLM_TRY(load_attention(reader, prefix, layer));
  if (config_.layers[index].has_experts) {
    layer.experts.emplace().config = *config_.experts;
    return layer.experts->load(reader, prefix, hidden);
  }
  layer.ffn.activation = config_.activation;
  return layer.ffn.load(reader, prefix, {.outputs = config_.ffn_size, .inputs = hidden}, config_.is_fused);
}

Result<void> DenseModel::load_attention(WeightReader& reader, const std::string& prefix, Layer& layer) {
  if (config_.latent.has_value()) {
    layer.latent.emplace();
    layer.latent->size = *config_.latent;
    layer.latent->scores = config_.scores;
    return layer.latent->load(reader, prefix);
  }
  layer.attention.size = config_.attention;
  layer.attention.rope_layout = config_.rope_layout;
  layer.attention.scores = config_.scores;
  PLM_TRY(layer.attention.load(reader, prefix, config_.is_fused));
  if (config_.has_sinks) PLM_TRY(layer.attention.load_sinks(reader, prefix));
  return layer.attention.load_norms(reader, prefix, config_.query_key_norm, config_.norm_epsilon);
}

Result<StateLayout> DenseModel::state_layout(const KvTypes& types) const {
  StateLayout layout;
  for (std::size_t index = 0; index < config_.shape.layer_count; ++index) {
    if (config_.latent.has_value()) {
      PLM_TRY(layout.add_layer(config_.latent->place(types)));
    } else {
      PLM_TRY(layout.add_layer(config_.attention.place(types)));
    }
  }
  return layout;
}

Result<DenseModel::Activations> DenseModel::take_activations(std::size_t rows) {
  Activations at;
  for (View* view : {&at.x, &at.normed, &at.delta}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, config_.shape.hidden_size));
  }
  PLM_TRY(take_attention(rows, at));
  if (config_.experts.has_value()) PLM_TRY(take_experts(rows, at.experts));
  for (View* view : {&at.ffn.gate, &at.ffn.up}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, config_.ffn_size));
  }
  return at;
}

Result<void> DenseModel::take_attention(std::size_t rows, Activations& at) {
  if (!config_.latent.has_value()) {
    const AttentionSize& size = config_.attention;
    for (View* view : {&at.attention.queries, &at.attention.mixed}) {
      PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.q_columns()));
    }
    for (View* view : {&at.attention.keys, &at.attention.values}) {
      PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.kv_columns()));
    }
    return {};
  }
  const LatentSize& size = *config_.latent;
  if (size.q_rank > 0) {
    PLM_TRY_ASSIGN(at.latent.low_queries, workspace_.take(rows, size.q_rank));
  }
  PLM_TRY_ASSIGN(at.latent.heads, workspace_.take(rows, size.q_heads * size.head_dim()));
  PLM_TRY_ASSIGN(at.latent.keys, workspace_.take(rows, size.key_dim()));
  PLM_TRY_ASSIGN(at.latent.queries, workspace_.take(rows, size.q_heads * size.key_dim()));
  PLM_TRY_ASSIGN(at.latent.mixed, workspace_.take(rows, size.q_heads * size.kv_rank));
  PLM_TRY_ASSIGN(at.latent.values, workspace_.take(rows, size.q_heads * size.value_dim));
  return {};
}

Result<void> DenseModel::take_experts(std::size_t rows, MixtureScratch& at) {
  const ExpertsConfig& experts = *config_.experts;
  const std::size_t chosen = rows * experts.rule.used;
  PLM_TRY_ASSIGN(at.scores, workspace_.take(rows, experts.count));
  PLM_TRY_ASSIGN(at.routing, workspace_.take(rows, 2 * experts.rule.used));
  PLM_TRY_ASSIGN(at.experts.rows, workspace_.take(chosen, config_.shape.hidden_size));
  for (View* view : {&at.experts.gate, &at.experts.up}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(chosen, experts.ffn_size));
  }
  if (experts.shared_ffn_size == 0) return {};
  for (View* view : {&at.shared.gate, &at.shared.up}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, experts.shared_ffn_size));
  }
  PLM_TRY_ASSIGN(at.shared_out, workspace_.take(rows, config_.shape.hidden_size));
  PLM_TRY_ASSIGN(at.shared_gate, workspace_.take(rows, 1));
  return {};
}

Result<void> DenseModel::take_angles(std::span<const std::uint32_t> positions) {
  for (std::size_t i = 0; i < angles_.size(); ++i) {
    const Rope& rope = config_.ropes[i];
    PLM_TRY_ASSIGN(angles_[i].view, workspace_.take(positions.size(), rope.dimensions()));
    angles_[i].numbers.resize(positions.size() * rope.dimensions());
    rope.fill_angles(positions, angles_[i].numbers);
    device_.upload(angles_[i].view, std::as_bytes(std::span(angles_[i].numbers)));
  }
  return {};
}

RowTable DenseModel::table_for(const LayerKind& kind, const PassRows& rows) const {
  if (kind.window == 0) return rows.table;
  return std::ranges::find(windows_, kind.window, &WindowedTable::window)->table();
}

Result<void> DenseModel::enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const Activations at, take_activations(rows.tokens.size()));
  PLM_TRY(take_angles(rows.positions));
  for (WindowedTable& window : windows_) window.take(rows);

  device_.embed(*embedding_, rows.tokens, at.x, config_.embedding_scale);
  if (probe) probe("embed", at.x);
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const LayerKind& kind = config_.layers[index];
    const View angles = kind.rope == LayerKind::kNoRope ? View{} : angles_[kind.rope].view;
    run_layer({device_, table_for(kind, rows), layout, angles, probe}, index, at);
  }
  return finish(at.x, at.normed, rows, probe);
}

Result<void> DenseModel::enqueue_head(const View& hidden, const PassRows& rows) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const View normed, workspace_.take(hidden.rows, hidden.columns));
  return finish(hidden, normed, rows, {});
}

Result<void> DenseModel::finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe) {
  final_norm_(device_, hidden, normed);
  if (probe) probe("final_norm", normed);
  if (head_ == nullptr) return OutputHead::enqueue_hidden(device_, normed, rows);
  return output_head_.enqueue(device_, workspace_, *head_, normed, rows);
}

void DenseModel::run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  const auto normed = [&](const std::optional<RmsNorm>& norm) {
    if (!norm.has_value()) return at.x;
    (*norm)(pass.device, at.x, at.normed);
    return at.normed;
  };
  const auto add_branch = [&](const char* name, const std::optional<RmsNorm>& norm) {
    if (pass.probe) pass.report(fmt::format("layer.{}.{}", index, name), at.delta);
    if (norm.has_value()) (*norm)(pass.device, at.delta, at.delta);
    pass.device.add(at.x, at.delta);
  };
  const View attention_in = normed(layer.attention_norm);
  if (layer.latent.has_value()) {
    (*layer.latent)(pass, index, at.latent, attention_in, at.delta);
  } else {
    layer.attention(pass, index, at.attention, attention_in, at.delta);
  }
  add_branch("attn", layer.attention_out_norm);
  const View ffn_in = normed(layer.ffn_norm);
  if (layer.experts.has_value()) {
    (*layer.experts)(pass, at.experts, ffn_in, at.delta);
    if (pass.probe) pass.report(fmt::format("layer.{}.routing", index), at.experts.routing);
  } else {
    layer.ffn(pass, at.ffn, ffn_in, at.delta);
  }
  add_branch("ffn", layer.ffn_out_norm);
  if (pass.probe) pass.report(fmt::format("layer.{}", index), at.x);
}

}  // namespace plm
