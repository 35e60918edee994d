#include "model/layers/canvas_model.h"

#include <algorithm>
#include <cmath>

namespace plm {
namespace {

constexpr std::size_t kSoftRows = 16;  // whose probabilities of all tokens lie in memory at a time

// A head is a row of its own here.
View heads_of(const View& view, std::size_t head_dim) {
  return dense_view(*view.storage, view.rows * view.columns / head_dim, head_dim, *view.type, view.offset);
}

// The first columns of a buffer as a dense matrix.
View narrowed(const View& view, std::size_t columns) {
  return dense_view(*view.storage, view.rows, columns, *view.type, view.offset);
}

Result<std::vector<float>> read_numbers(ModelFile& file, const std::string& name, std::size_t count) {
  PLM_TRY_ASSIGN(const ModelFile::Tensor found, file.tensor(name, {1, count}));
  std::vector<float> numbers(count);
  PLM_TRY_ASSIGN(const TensorBytes data, file.gguf().read(*found.entry));
  found.type->unpack(data.bytes.data(), numbers.data(), count / found.type->block_size);
  return numbers;
}

}  // namespace

CanvasModel::CanvasModel(CanvasConfig config, Device& device)
    : config_(std::move(config)), device_(device), workspace_(device) {
  output_head_.soft_cap = config_.logit_cap;
}

Result<std::unique_ptr<Model>> CanvasModel::load(ModelFile& file, Device& device, CanvasConfig config) {
  std::unique_ptr<CanvasModel> model(new CanvasModel(std::move(config), device));
  WeightReader look(file), take(file, device);
  PLM_TRY(model->load_weights(look));
  PLM_TRY(file.refuse_unread());
  PLM_TRY(model->load_weights(take));
  return model;
}

Result<RmsNorm> CanvasModel::plain_norm(WeightReader& reader, std::size_t size) const {
  RmsNorm norm;
  norm.epsilon = config_.norm_epsilon;
  PLM_TRY_ASSIGN(norm.gain, reader.constant(WeightRole::norm, size, 1.0F));
  return norm;
}

Result<void> CanvasModel::load_weights(WeightReader& reader) {
  const std::size_t hidden = config_.shape.hidden_size, vocabulary = config_.shape.vocab_size;
  const MatrixSize table{.outputs = vocabulary, .inputs = hidden};
  PLM_TRY_ASSIGN(embedding_, reader.matrix("token_embd.weight", WeightRole::embedding, table));
  PLM_TRY_ASSIGN(mixing_, reader.transposed_rows("token_embd.weight", WeightRole::ffn_down,
                                                 {.outputs = hidden, .inputs = vocabulary}, {0, vocabulary}));
  PLM_TRY(load_conditioning(reader));
  layers_.clear();
  for (std::size_t index = 0; index < config_.layers.size(); ++index) PLM_TRY(load_layer(reader, index));
  PLM_TRY_ASSIGN(final_norm_, RmsNorm::load(reader, "output_norm", hidden, config_.norm_epsilon));
  const bool is_tied = !reader.has("output.weight");
  PLM_TRY_ASSIGN(head_, reader.matrix(is_tied ? "token_embd.weight" : "output.weight", WeightRole::head, table));
  return {};
}

Result<void> CanvasModel::load_conditioning(WeightReader& reader) {
  const std::size_t hidden = config_.shape.hidden_size;
  const MatrixSize wide{.outputs = config_.ffn_size, .inputs = hidden};
  const MatrixSize narrow{.outputs = hidden, .inputs = config_.ffn_size};
  PLM_TRY_ASSIGN(conditioning_norm_, RmsNorm::load(reader, "self_cond_pre_norm", hidden, config_.norm_epsilon));
  PLM_TRY_ASSIGN(entry_norm_, plain_norm(reader, hidden));
  conditioning_.activation = Activation::gelu_tanh;
  PLM_TRY_ASSIGN(conditioning_.gate, Linear::load(reader, "self_cond_gate", WeightRole::ffn_gate, wide));
  PLM_TRY_ASSIGN(conditioning_.up, Linear::load(reader, "self_cond_up", WeightRole::ffn_up, wide));
  PLM_TRY_ASSIGN(conditioning_.down, Linear::load(reader, "self_cond_down", WeightRole::ffn_down, narrow));
  return {};
}

Result<void> CanvasModel::load_layer(WeightReader& reader, std::size_t index) {
  const std::string prefix = fmt::format("blk.{}", index);
  Layer& layer = layers_.emplace_back();
  PLM_TRY(load_attention(reader, prefix, config_.layers[index].attention, layer));
  return load_branches(reader, prefix, layer);
}

Result<void> CanvasModel::load_attention(WeightReader& reader, const std::string& prefix, const AttentionSize& size,
                                         Layer& layer) {
  const std::size_t hidden = config_.shape.hidden_size;
  const float epsilon = config_.norm_epsilon;
  PLM_TRY_ASSIGN(layer.attention_norm, RmsNorm::load(reader, prefix + ".attn_norm", hidden, epsilon));
  PLM_TRY_ASSIGN(layer.attention_out_norm, RmsNorm::load(reader, prefix + ".post_attention_norm", hidden, epsilon));
  PLM_TRY_ASSIGN(layer.query_norm, RmsNorm::load(reader, prefix + ".attn_q_norm", size.head_dim, epsilon));
  PLM_TRY_ASSIGN(layer.key_norm, RmsNorm::load(reader, prefix + ".attn_k_norm", size.head_dim, epsilon));
  PLM_TRY_ASSIGN(layer.value_norm, plain_norm(reader, size.head_dim));
  const MatrixSize q{size.q_columns(), hidden}, kv{size.kv_columns(), hidden}, o{hidden, size.q_columns()};
  PLM_TRY_ASSIGN(layer.query, Linear::load(reader, prefix + ".attn_q", WeightRole::attention_query, q));
  PLM_TRY_ASSIGN(layer.key, Linear::load(reader, prefix + ".attn_k", WeightRole::attention_key, kv));
  if (reader.has(prefix + ".attn_v.weight")) {
    PLM_TRY_ASSIGN(layer.value, Linear::load(reader, prefix + ".attn_v", WeightRole::attention_value, kv));
  }
  PLM_TRY_ASSIGN(layer.output, Linear::load(reader, prefix + ".attn_output", WeightRole::attention_output, o));
  return {};
}

Result<void> CanvasModel::load_branches(WeightReader& reader, const std::string& prefix, Layer& layer) {
  const std::size_t hidden = config_.shape.hidden_size;
  const auto norm = [&](std::string_view name) {
    return RmsNorm::load(reader, fmt::format("{}.{}", prefix, name), hidden, config_.norm_epsilon);
  };
  PLM_TRY_ASSIGN(layer.ffn_norm, norm("ffn_norm"));
  PLM_TRY_ASSIGN(layer.ffn_branch_norm, norm("post_ffw_norm_1"));
  PLM_TRY_ASSIGN(layer.expert_norm, norm("pre_ffw_norm_2"));
  PLM_TRY_ASSIGN(layer.expert_branch_norm, norm("post_ffw_norm_2"));
  PLM_TRY_ASSIGN(layer.ffn_out_norm, norm("post_ffw_norm"));
  layer.ffn.activation = Activation::gelu_tanh;
  PLM_TRY(layer.ffn.load(reader, prefix, {.outputs = config_.ffn_size, .inputs = hidden}, false));
  layer.router_norm.epsilon = config_.norm_epsilon;
  PLM_TRY_ASSIGN(layer.router_norm.gain, reader.vector(prefix + ".ffn_gate_inp.scale", WeightRole::norm, hidden));
  layer.experts.config = config_.experts;
  PLM_TRY(layer.experts.load(reader, prefix, hidden));
  PLM_TRY_ASSIGN(layer.expert_scales,
                 read_numbers(reader.file(), prefix + ".ffn_down_exps.scale", config_.experts.count));
  return {};
}

Result<StateLayout> CanvasModel::state_layout(const KvTypes& types) const {
  StateLayout layout;
  for (const CanvasConfig::Layer& layer : config_.layers) PLM_TRY(layout.add_layer(layer.attention.place(types)));
  return layout;
}

Result<CanvasModel::Activations> CanvasModel::take_activations(std::size_t rows) {
  std::size_t q_columns = 0, kv_columns = 0;
  for (const CanvasConfig::Layer& layer : config_.layers) {
    q_columns = std::max(q_columns, layer.attention.q_columns());
    kv_columns = std::max(kv_columns, layer.attention.kv_columns());
  }
  const ExpertsConfig& experts = config_.experts;
  const std::size_t hidden = config_.shape.hidden_size, chosen = rows * experts.rule.used;
  Activations at;
  struct Wish {
    View* view;
    std::size_t rows, columns;
  };
  const Wish wishes[] = {{&at.x, rows, hidden},
                         {&at.normed, rows, hidden},
                         {&at.delta, rows, hidden},
                         {&at.expert_out, rows, hidden},
                         {&at.attention.queries, rows, q_columns},
                         {&at.attention.mixed, rows, q_columns},
                         {&at.attention.keys, rows, kv_columns},
                         {&at.attention.values, rows, kv_columns},
                         {&at.ffn.gate, rows, config_.ffn_size},
                         {&at.ffn.up, rows, config_.ffn_size},
                         {&at.experts.scores, rows, experts.count},
                         {&at.experts.routing, rows, 2 * experts.rule.used},
                         {&at.experts.experts.rows, chosen, hidden},
                         {&at.experts.experts.gate, chosen, experts.ffn_size},
                         {&at.experts.experts.up, chosen, experts.ffn_size}};
  for (const Wish& wish : wishes) {
    PLM_TRY_ASSIGN(*wish.view, workspace_.take(wish.rows, wish.columns));
  }
  return at;
}

Result<View> CanvasModel::take_angles(const Rope& rope, std::span<const std::uint32_t> positions,
                                      std::vector<float>& numbers) {
  PLM_TRY_ASSIGN(const View view, workspace_.take(positions.size(), rope.dimensions()));
  numbers.resize(positions.size() * rope.dimensions());
  rope.fill_angles(positions, numbers);
  device_.upload(view, std::as_bytes(std::span(numbers)));
  return view;
}

void CanvasModel::take_runs(const PassRows& rows) {
  runs_.clear();
  for (std::size_t row = 0; row < rows.tokens.size(); ++row) {
    const bool is_canvas = !rows.types.empty() && rows.types[row] != 0;
    if (runs_.empty() || runs_.back().is_canvas != is_canvas) runs_.push_back({row, 0, is_canvas});
    ++runs_.back().count;
  }
}

// A window is cut into what rows see; cells lie in order of their positions.
Result<void> CanvasModel::take_windows(const PassRows& rows) {
  sights_.assign(rows.table.rows.begin(), rows.table.rows.end());
  if (config_.window == 0) return {};
  for (const Run& run : runs_) {
    std::uint32_t sequence = ~std::uint32_t{0}, text_end = 0;  // of the canvas that a row is of
    for (std::size_t row = run.first; row < run.first + run.count; ++row) {
      RowSight& sight = sights_[row];
      if (sight.own_count > 0) {
        return fail(ErrorKind::usage, "pass: its rows see one another by bits, which this network's windows do not do");
      }
      if (sight.sequence != sequence) {
        sequence = sight.sequence;
        text_end = sight.slot;
      }
      const std::uint32_t newest = run.is_canvas ? text_end : sight.slot;
      const std::uint32_t oldest = newest + 1 > config_.window ? newest + 1 - config_.window : 0;
      sight.begin = std::min(std::max(sight.begin, oldest), sight.end);
    }
  }
  return {};
}

Result<void> CanvasModel::enqueue(const PassRows& rows, const StateLayout& layout, const Probe& probe) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(Activations at, take_activations(rows.tokens.size()));
  PLM_TRY_ASSIGN(at.angles, take_angles(config_.rope, rows.positions, angles_));
  PLM_TRY_ASSIGN(at.window_angles, take_angles(config_.window_rope, rows.positions, window_angles_));
  take_runs(rows);
  PLM_TRY(take_windows(rows));
  PLM_TRY(enter(rows, at));
  if (probe) probe("embed", at.x);
  RowTable windows = rows.table;
  windows.rows = sights_;
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    const bool has_window = config_.layers[index].has_window;
    PLM_TRY(run_layer(
        {device_, has_window ? windows : rows.table, layout, has_window ? at.window_angles : at.angles, probe}, index,
        at));
  }
  return finish(at.x, at.normed, rows, probe);
}

Result<void> CanvasModel::enter(const PassRows& rows, const Activations& at) {
  device_.embed(*embedding_, rows.tokens, at.x, std::sqrt(static_cast<float>(config_.shape.hidden_size)));
  for (const Run& run : runs_) {
    if (!run.is_canvas) continue;
    const View x = at.x.row_range(run.first, run.count);
    PLM_TRY(condition(run, rows, at));
    entry_norm_(device_, x, x);
  }
  return {};
}

// Adds what is made of the pass before. Rows without such a thing get nothing, as the mean of no embeddings is 0.
Result<void> CanvasModel::condition(const Run& run, const PassRows& rows, const Activations& at) {
  const auto soft_of = [&](std::size_t row) {
    return rows.soft_tokens.empty() ? std::span<const float>() : rows.soft_tokens[row];
  };
  const std::size_t vocabulary = config_.shape.vocab_size;
  bool has_soft = false;
  for (std::size_t row = run.first; row < run.first + run.count; ++row) has_soft = has_soft || !soft_of(row).empty();
  if (!has_soft) return {};
  const std::size_t group = std::min(run.count, kSoftRows);
  PLM_TRY_ASSIGN(const View shares, workspace_.take(group, vocabulary));
  const View mean = at.normed.row_range(0, run.count), delta = at.delta.row_range(0, run.count);
  for (std::size_t first = 0; first < run.count; first += group) {
    const std::size_t count = std::min(group, run.count - first);
    soft_.assign(count * vocabulary, 0.0F);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const float> soft = soft_of(run.first + first + i);
      PLM_CHECK(soft.empty() || soft.size() == vocabulary);
      std::ranges::copy(soft, soft_.begin() + static_cast<std::ptrdiff_t>(i * vocabulary));
    }
    device_.upload(shares.row_range(0, count), std::as_bytes(std::span(soft_)));
    device_.linear(*mixing_, shares.row_range(0, count), mean.row_range(first, count));
  }
  device_.scale(mean, std::sqrt(static_cast<float>(config_.shape.hidden_size)));
  conditioning_norm_(device_, mean, mean);
  const FeedForwardScratch scratch{at.ffn.gate.row_range(0, run.count), at.ffn.up.row_range(0, run.count)};
  const Probe none;
  conditioning_({device_, rows.table, {}, {}, none}, scratch, mean, delta);
  device_.add(at.x.row_range(run.first, run.count), delta);
  return {};
}

Result<void> CanvasModel::enqueue_head(const View& hidden, const PassRows& rows) {
  PLM_TRY(workspace_.reset());
  PLM_TRY_ASSIGN(const View normed, workspace_.take(hidden.rows, hidden.columns));
  return finish(hidden, normed, rows, {});
}

Result<void> CanvasModel::finish(const View& hidden, const View& normed, const PassRows& rows, const Probe& probe) {
  final_norm_(device_, hidden, normed);
  if (probe) probe("final_norm", normed);
  return output_head_.enqueue(device_, workspace_, *head_, normed, rows);
}

Result<void> CanvasModel::run_layer(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  const auto report = [&](const char* name) {
    if (pass.probe) pass.report(fmt::format("layer.{}{}", index, name), name[0] == '\0' ? at.x : at.delta);
  };
  layer.attention_norm(pass.device, at.x, at.normed);
  attend(pass, index, at);
  report(".attn");
  layer.attention_out_norm(pass.device, at.delta, at.delta);
  pass.device.add(at.x, at.delta);
  PLM_TRY(mix(pass, layer, at));
  report(".ffn");
  layer.ffn_out_norm(pass.device, at.delta, at.delta);
  pass.device.add(at.x, at.delta);
  const CanvasConfig::Layer& config = config_.layers[index];
  for (const Run& run : runs_) {
    const float factor = run.is_canvas ? config.canvas_scale : config.text_scale;
    if (factor != 1) pass.device.scale(at.x.row_range(run.first, run.count), factor);
  }
  report("");
  return {};
}

void CanvasModel::attend(const LayerPass& pass, std::size_t index, const Activations& at) const {
  const Layer& layer = layers_[index];
  const AttentionSize& size = config_.layers[index].attention;
  Device& device = pass.device;
  const AttentionScratch scratch{
      narrowed(at.attention.queries, size.q_columns()), narrowed(at.attention.keys, size.kv_columns()),
      narrowed(at.attention.values, size.kv_columns()), narrowed(at.attention.mixed, size.q_columns())};
  const auto normalise = [&](const RmsNorm& norm, const View& view) {
    const View heads = heads_of(view, size.head_dim);
    norm(device, heads, heads);
  };
  layer.query(device, at.normed, scratch.queries);
  layer.key(device, at.normed, scratch.keys);
  if (layer.value.has_value()) {
    (*layer.value)(device, at.normed, scratch.values);
  } else {
    device.copy(scratch.values, scratch.keys);
  }
  normalise(layer.query_norm, scratch.queries);
  normalise(layer.key_norm, scratch.keys);
  normalise(layer.value_norm, scratch.values);
  device.rope(scratch.queries, size.head_dim, pass.angles, RopeLayout::half_split);
  device.rope(scratch.keys, size.head_dim, pass.angles, RopeLayout::half_split);
  store_and_attend(pass, pass.layout.layers[index], 1, scratch);
  layer.output(device, scratch.mixed, at.delta);
  device.all_reduce(at.delta);
}

// Both branches behind the attention, in at.delta.
Result<void> CanvasModel::mix(const LayerPass& pass, const Layer& layer, const Activations& at) const {
  Device& device = pass.device;
  const Experts& experts = layer.experts;
  const MixtureScratch& scratch = at.experts;
  layer.router_norm(device, at.x, at.normed);
  device.scale(at.normed, 1 / std::sqrt(static_cast<float>(config_.shape.hidden_size)));
  experts.router(device, at.normed, scratch.scores);
  device.route(scratch.scores, experts.config.rule, nullptr, scratch.routing);
  const bool has_scales = std::ranges::any_of(layer.expert_scales, [](float scale) { return scale != 1; });
  if (has_scales) {
    // Every expert has a factor of its own on the weight that the router gives it; the device has no such operation.
    const std::size_t used = experts.config.rule.used;
    std::vector<float> routing(scratch.routing.rows * 2 * used);
    device.download(scratch.routing, std::as_writable_bytes(std::span(routing)));
    PLM_TRY(device.wait());
    for (std::size_t row = 0; row < scratch.routing.rows; ++row) {
      float* numbers = routing.data() + row * 2 * used;
      for (std::size_t i = 0; i < used; ++i) {
        numbers[used + i] *= layer.expert_scales[static_cast<std::size_t>(numbers[i])];
      }
    }
    device.upload(scratch.routing, std::as_bytes(std::span(routing)));
  }
  layer.expert_norm(device, at.x, at.normed);
  const ExpertWeights weights{.gate = experts.gate.get(),
                              .up = experts.up.get(),
                              .down = experts.down.get(),
                              .activation = experts.config.activation};
  device.experts(weights, at.normed, scratch.routing, scratch.experts, at.expert_out);
  device.all_reduce(at.expert_out);
  layer.expert_branch_norm(device, at.expert_out, at.expert_out);
  layer.ffn_norm(device, at.x, at.normed);
  layer.ffn(pass, at.ffn, at.normed, at.delta);
  layer.ffn_branch_norm(device, at.delta, at.delta);
  device.add(at.delta, at.expert_out);
  return {};
}

}  // namespace plm
