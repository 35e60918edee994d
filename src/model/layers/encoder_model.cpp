#include "model/layers/encoder_model.h"

#include <algorithm>

namespace plm {

EncoderModel::EncoderModel(EncoderConfig config, Device& device)
    : config_(std::move(config)), device_(device), workspace_(device), angles_(config_.ropes.size()) {
  PLM_CHECK(config_.layers.size() == config_.shape.layer_count);
  for (const EncoderConfig::Layer& layer : config_.layers) {
    PLM_CHECK(layer.rope == LayerKind::kNoRope || layer.rope < config_.ropes.size());
    if (layer.reach == 0) continue;
    if (!window_.has_value()) window_ = WindowedTable::symmetric(layer.reach);
    PLM_CHECK(window_->window() == layer.reach + 1);
  }
}

Result<std::unique_ptr<Model>> EncoderModel::load(ModelFile& file, Device& device, EncoderConfig config) {
  std::unique_ptr<EncoderModel> model(new EncoderModel(std::move(config), device));
  WeightReader look(file), take(file, device);
  PLM_TRY(model->load_weights(look));
  PLM_TRY(file.refuse_unread());
  PLM_TRY(model->load_weights(take));
  return model;
}

Result<void> EncoderModel::load_weights(WeightReader& reader) {
  const std::size_t hidden = config_.shape.hidden_size;
  PLM_TRY(load_tables(reader));
  PLM_TRY_ASSIGN(embedding_norm_, LayerNorm::load(reader, "token_embd_norm", hidden, config_.norm_epsilon));
  layers_.clear();
  for (std::size_t index = 0; index < config_.shape.layer_count; ++index) PLM_TRY(load_layer(reader, index));
  if (config_.norms_before) {
    PLM_TRY_ASSIGN(final_norm_, LayerNorm::load(reader, "output_norm", hidden, config_.norm_epsilon));
  }
  return reader.has(std::string(kMaskHeadTensor)) ? load_mask_head(reader) : Result<void>();
}

Result<void> EncoderModel::load_mask_head(WeightReader& reader) {
  const ModelShape& shape = config_.shape;
  const MatrixSize square{.outputs = shape.hidden_size, .inputs = shape.hidden_size};
  const MatrixSize words{.outputs = shape.vocab_size, .inputs = shape.hidden_size};
  MaskHead& head = mask_head_.emplace();
  PLM_TRY_ASSIGN(head.transform, Linear::load(reader, "output_transform", WeightRole::head, square));
  PLM_TRY_ASSIGN(head.norm, LayerNorm::load(reader, "output_transform_norm", shape.hidden_size, config_.norm_epsilon));
  const bool is_tied = !reader.has("output.weight");
  PLM_TRY_ASSIGN(head.words, reader.matrix(is_tied ? "token_embd.weight" : "output.weight", WeightRole::head, words));
  if (reader.has("output.bias")) {
    PLM_TRY_ASSIGN(head.bias, reader.vector("output.bias", WeightRole::bias, shape.vocab_size));
  }
  output_head_.bias = head.bias.get();
  return {};
}

Result<void> EncoderModel::load_tables(WeightReader& reader) {
  const ModelShape& shape = config_.shape;
  const auto table = [&](const char* name, std::size_t rows) {
    return reader.matrix(name, WeightRole::embedding, {.outputs = rows, .inputs = shape.hidden_size});
  };
  PLM_TRY_ASSIGN(embedding_, table("token_embd.weight", shape.vocab_size));
  if (config_.learns_positions) {
    PLM_TRY_ASSIGN(position_table_, table("position_embd.weight", shape.most_positions));
  }
  if (config_.type_count > 0) {
    PLM_TRY_ASSIGN(type_table_, table("token_types.weight", config_.type_count));
  }
  return {};
}

Result<void> EncoderModel::load_layer(WeightReader& reader, std::size_t index) {
  const std::string prefix = fmt::format("blk.{}", index);
  const std::size_t hidden = config_.shape.hidden_size;
  const MatrixSize wide{.outputs = config_.ffn_size, .inputs = hidden};
  const auto norm = [&](const char* before, const char* behind) {
    return LayerNorm::load(reader, prefix + (config_.norms_before ? before : behind), hidden, config_.norm_epsilon);
  };
  Layer& layer = layers_.emplace_back();
  if (index > 0 || !config_.first_norm_missing) {
    PLM_TRY_ASSIGN(layer.attention_norm, norm(".attn_norm", ".attn_output_norm"));
  }
  PLM_TRY_ASSIGN(layer.ffn_norm, norm(".ffn_norm", ".layer_output_norm"));
  layer.attention.size = config_.attention;
  layer.attention.rope_layout = RopeLayout::half_split;
  layer.attention.scores = config_.scores;
  PLM_TRY(layer.attention.load(reader, prefix, config_.is_fused));
  layer.ffn.activation = config_.gate;
  if (config_.is_gated) return layer.ffn.load(reader, prefix, wide, config_.gate_is_fused);
  const MatrixSize narrow{.outputs = hidden, .inputs = config_.ffn_size};
  PLM_TRY_ASSIGN(layer.ffn.up, Linear::load(reader, prefix + ".ffn_up", WeightRole::ffn_up, wide));
  PLM_TRY_ASSIGN(layer.ffn.down, Linear::load(reader, prefix + ".ffn_down", WeightRole::ffn_down, narrow));
  return {};
}

// All layers have the same place: what one stored is read by itself alone.
Result<StateLayout> EncoderModel::state_layout(const KvTypes& types) const {
  StateLayout layout;
  PLM_TRY(layout.add_layer(config_.attention.place(types)));
  layout.layers.resize(config_.shape.layer_count, layout.layers.front());
  return layout;
}

Result<EncoderModel::Activations> EncoderModel::take_activations(std::size_t rows) {
  const AttentionSize& size = config_.attention;
  Activations at;
  for (View* view : {&at.x, &at.normed, &at.delta}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, config_.shape.hidden_size));
  }
  for (View* view : {&at.attention.queries, &at.attention.mixed}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.q_columns()));
  }
  for (View* view : {&at.attention.keys, &at.attention.values}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(rows, size.kv_columns()));
  }
  PLM_TRY_ASSIGN(at.ffn.up, workspace_.take(rows, config_.ffn_size));
  if (config_.is_gated) {
    PLM_TRY_ASSIGN(at.ffn.gate, workspace_.take(rows, config_.ffn_size));
  }
  return at;
}

Result<void> EncoderModel::take_angles(std::span<const std::uint32_t> positions) {
  for (std::size_t i = 0; i < angles_.size(); ++i) {
    const Rope& rope = config_.ropes[i];
    PLM_TRY_ASSIGN(angles_[i].view, workspace_.take(positions.size(), rope.dimensions()));
    angles_[i].numbers.resize(positions.size() * rope.dimensions());
    rope.fill_angles(positions, angles_[i].numbers);
    device_.upload(angles_[i].view, std::as_bytes(std::span(angles_[i].numbers)));
  }
  return {};
}

// Rows of the tables of positions and types, after a check that they exist.
Result<void> EncoderModel::take_ids(const PassRows& rows) {
  positions_.clear();
  if (config_.learns_positions) {
    for (const std::uint32_t position : rows.positions) {
      if (position >= config_.shape.most_positions) {
        return fail(ErrorKind::usage, "position {}: this model has learned {}; shorten the text", position,
                    config_.shape.most_positions);
      }
      positions_.push_back(static_cast<std::int32_t>(position));
    }
  }
  types_.clear();
  if (config_.type_count == 0) return {};
  types_.assign(rows.types.begin(), rows.types.end());
  types_.resize(rows.tokens.size(), 0);
  // A model that knows one type only was trained with it for both texts of a pair.
  for (std::int32_t& type : types_) {
    if (config_.type_count == 1) type = 0;
    if (type >= 0 && static_cast<std::size_t>(type) < config_.type_count) continue;
    return fail(ErrorKind::usage, "token type {}: this model knows {} of them", type, config_.type_count);
  }
  return {};
}

void EncoderModel::embed(const PassRows& rows, const Activations& at) const {
  device_.embed(*embedding_, rows.tokens, at.x);
  if (type_table_ != nullptr) {
    device_.embed(*type_table_, types_, at.delta);
    device_.add(at.x, at.delta);
  }
  if (position_table_ != nullptr) {
    device_.embed(*position_table_, positions_, at.normed);
    device_.add(at.x, at.normed);
  }
  embedding_norm_(device_, at.x, at.x);
}

Result<void> EncoderModel::enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) {
  PLM_TRY(take_ids(rows));
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const Activations at, take_activations(rows.tokens.size()));
  PLM_TRY(take_angles(rows.positions));
  if (window_.has_value()) window_->take(rows);

  embed(rows, at);
  if (probe) probe("embed", at.x);
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const EncoderConfig::Layer& kind = config_.layers[index];
    const View angles = kind.rope == LayerKind::kNoRope ? View{} : angles_[kind.rope].view;
    run_layer({device_, kind.reach > 0 ? window_->table() : rows.table, layout, angles, probe}, index, at);
  }
  if (final_norm_.has_value()) (*final_norm_)(device_, at.x, at.x);
  if (probe) probe("final_norm", at.x);
  return enqueue_readings(rows, at);
}

Result<void> EncoderModel::enqueue_head(const View& hidden, const PassRows& rows) {
  PLM_TRY(workspace_.reset());
  Activations at;
  for (View* view : {&at.x, &at.normed, &at.delta}) {
    PLM_TRY_ASSIGN(*view, workspace_.take(hidden.rows, hidden.columns));
  }
  device_.copy(at.x, hidden);
  if (final_norm_.has_value()) (*final_norm_)(device_, at.x, at.x);
  return enqueue_readings(rows, at);
}

Result<void> EncoderModel::enqueue_readings(const PassRows& rows, const Activations& at) {
  const auto wants_logits = [](const Yield& yield) { return OutputHead::needs_logits(yield.kind); };
  if (!mask_head_.has_value() || std::ranges::none_of(rows.yields, wants_logits)) {
    return OutputHead::enqueue_hidden(device_, at.x, rows);
  }
  mask_head_->transform(device_, at.x, at.normed);
  device_.apply(at.normed, Curve::gelu_erf);
  mask_head_->norm(device_, at.normed, at.delta);
  return output_head_.enqueue(device_, workspace_, *mask_head_->words, {at.x, at.delta}, rows);
}

void EncoderModel::run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  // x += branch(norm(x)), or x = norm(x + branch(x)).
  const auto run_branch = [&](const char* name, const LayerNorm* norm, const auto& branch) {
    const bool is_normed_first = config_.norms_before && norm != nullptr;
    if (is_normed_first) (*norm)(pass.device, at.x, at.normed);
    branch(is_normed_first ? at.normed : at.x);
    if (pass.probe) pass.report(fmt::format("layer.{}.{}", index, name), at.delta);
    pass.device.add(at.x, at.delta);
    if (!config_.norms_before) (*norm)(pass.device, at.x, at.x);
  };
  run_branch("attn", layer.attention_norm.has_value() ? &*layer.attention_norm : nullptr,
             [&](const View& in) { layer.attention(pass, index, at.attention, in, at.delta); });
  run_branch("ffn", &layer.ffn_norm, [&](const View& in) { run_ffn(pass, layer, at, in); });
  if (pass.probe) pass.report(fmt::format("layer.{}", index), at.x);
}

void EncoderModel::run_ffn(const LayerPass& pass, const Layer& layer, const Activations& at, const View& in) const {
  if (config_.is_gated) return layer.ffn(pass, at.ffn, in, at.delta);
  layer.ffn.up(pass.device, in, at.ffn.up);
  pass.device.apply(at.ffn.up, config_.curve);
  layer.ffn.down(pass.device, at.ffn.up, at.delta);
  pass.device.all_reduce(at.delta);
}

}  // namespace plm
