#include "model/layers/experts.h"

#include "model/layers/dense_config.h"

namespace plm {
namespace {

Result<void> read_scores(const ModelFile& file, RouterRule& rule) {
  if (!file.has_key("expert_gating_func")) return {};
  constexpr RouterRule::Scores kNumbered[] = {RouterRule::Scores::softmax, RouterRule::Scores::sigmoid,
                                              RouterRule::Scores::softmax_of_chosen};
  PLM_TRY_ASSIGN(const std::size_t number, file.integer("expert_gating_func", {1, std::size(kNumbered)}));
  rule.scores = kNumbered[number - 1];
  return {};
}

Result<void> read_groups(const ModelFile& file, std::size_t experts, RouterRule& rule) {
  PLM_TRY_ASSIGN(rule.groups, file.integer_or("expert_group_count", 1, {1, experts}));
  PLM_TRY_ASSIGN(rule.used_groups, file.integer_or("expert_group_used_count", rule.groups, {1, rule.groups}));
  // DeepSeek-V2 takes a group by its best expert, V3, whose scores are sigmoids, by its best two.
  rule.group_best = rule.scores == RouterRule::Scores::sigmoid ? 2 : 1;
  const std::size_t least = rule.used_groups < rule.groups ? rule.group_best : 1;  // experts of a group
  const std::string found = fmt::format("{}", rule.groups);
  if (experts % rule.groups != 0 || experts / rule.groups < least) {
    return file.key_error("expert_group_count", found,
                          fmt::format("a divisor of expert_count = {}, groups of at least {}", experts, least));
  }
  if (rule.used > experts / rule.groups * rule.used_groups) {
    return file.key_error("expert_group_used_count", fmt::format("{}", rule.used_groups),
                          fmt::format("enough for expert_used_count = {} of {} groups of {}", rule.used, rule.groups,
                                      experts / rule.groups));
  }
  return {};
}

}  // namespace

Result<ExpertsConfig> read_experts(const ModelFile& file, ExpertsConfig config) {
  RouterRule& rule = config.rule;
  PLM_TRY_ASSIGN(config.count, file.integer("expert_count", {1, RouterRule::kMostExperts}));
  PLM_TRY_ASSIGN(rule.used, file.integer("expert_used_count", {0, kMostSize}));
  if (rule.used == 0 || rule.used > config.count) {
    return file.key_error("expert_used_count", fmt::format("{}", rule.used),
                          fmt::format("between 1 and {}.expert_count = {}", file.architecture(), config.count));
  }
  PLM_TRY_ASSIGN(const std::size_t wide, file.integer("feed_forward_length", {1, kMostSize}));
  PLM_TRY_ASSIGN(config.ffn_size, file.integer_or("expert_feed_forward_length", wide, {1, kMostSize}));
  PLM_TRY(read_scores(file, rule));
  PLM_TRY(read_groups(file, config.count, rule));
  PLM_TRY_ASSIGN(rule.is_normalised, file.boolean_or("expert_weights_norm", rule.is_normalised));
  PLM_TRY_ASSIGN(const double scale, file.positive_real_or("expert_weights_scale", rule.scale, 1e6));
  rule.scale = static_cast<float>(scale);
  PLM_TRY_ASSIGN(const std::size_t shared, file.integer_or("expert_shared_count", 0, {0, RouterRule::kMostExperts}));
  PLM_TRY_ASSIGN(config.shared_ffn_size,
                 file.integer_or("expert_shared_feed_forward_length", shared * config.ffn_size, {0, kMostSize}));
  return config;
}

Result<void> Experts::load(WeightReader& reader, const std::string& prefix, std::size_t hidden_size) {
  const MatrixSize scores{.outputs = config.count, .inputs = hidden_size};
  PLM_TRY_ASSIGN(router, Linear::load(reader, prefix + ".ffn_gate_inp", WeightRole::router, scores));
  const std::string bias = prefix + ".exp_probs_b.bias";
  if (config.rule.scores == RouterRule::Scores::sigmoid && reader.has(bias)) {
    PLM_TRY_ASSIGN(choice_bias, reader.vector(bias, WeightRole::bias, config.count));
  }
  PLM_TRY(load_experts(reader, prefix, hidden_size));
  return config.shared_ffn_size > 0 ? load_shared(reader, prefix, hidden_size) : Result<void>();
}

Result<void> Experts::load_experts(WeightReader& reader, const std::string& prefix, std::size_t hidden_size) {
  const MatrixSize wide{.outputs = config.ffn_size, .inputs = hidden_size, .count = config.count};
  const MatrixSize narrow{.outputs = hidden_size, .inputs = config.ffn_size, .count = config.count};
  const std::string fused = prefix + ".ffn_gate_up_exps.weight";
  if (reader.has(fused)) {
    const std::size_t both = 2 * config.ffn_size;
    PLM_TRY_ASSIGN(gate, reader.matrix_rows(fused, WeightRole::ffn_gate, wide, {0, both}));
    PLM_TRY_ASSIGN(up, reader.matrix_rows(fused, WeightRole::ffn_up, wide, {config.ffn_size, both}));
  } else {
    PLM_TRY_ASSIGN(gate, reader.expert_matrices(prefix + ".ffn_gate", WeightRole::ffn_gate, wide));
    PLM_TRY_ASSIGN(up, reader.expert_matrices(prefix + ".ffn_up", WeightRole::ffn_up, wide));
  }
  PLM_TRY_ASSIGN(down, reader.expert_matrices(prefix + ".ffn_down", WeightRole::ffn_down, narrow));
  const auto load_bias = [&](const char* name, std::size_t size, std::unique_ptr<Weight>& bias) -> Result<void> {
    if (!reader.has(prefix + name)) return {};
    PLM_TRY_ASSIGN(bias, reader.vectors(prefix + name, WeightRole::bias, config.count, size));
    return {};
  };
  PLM_TRY(load_bias(".ffn_gate_exps.bias", config.ffn_size, gate_bias));
  PLM_TRY(load_bias(".ffn_up_exps.bias", config.ffn_size, up_bias));
  return load_bias(".ffn_down_exps.bias", hidden_size, down_bias);
}

Result<void> Experts::load_shared(WeightReader& reader, const std::string& prefix, std::size_t hidden_size) {
  const MatrixSize wide{.outputs = config.shared_ffn_size, .inputs = hidden_size};
  const MatrixSize narrow{.outputs = hidden_size, .inputs = config.shared_ffn_size};
  FeedForward& all = shared.emplace();
  all.activation = config.activation;
  PLM_TRY_ASSIGN(all.gate, Linear::load(reader, prefix + ".ffn_gate_shexp", WeightRole::ffn_gate, wide));
  PLM_TRY_ASSIGN(all.up, Linear::load(reader, prefix + ".ffn_up_shexp", WeightRole::ffn_up, wide));
  PLM_TRY_ASSIGN(all.down, Linear::load(reader, prefix + ".ffn_down_shexp", WeightRole::ffn_down, narrow));
  if (!config.has_shared_gate) return {};
  const MatrixSize one{.outputs = 1, .inputs = hidden_size};
  PLM_TRY_ASSIGN(shared_gate, reader.matrix(prefix + ".ffn_gate_inp_shexp.weight", WeightRole::router, one));
  return {};
}

void Experts::operator()(const LayerPass& pass, const MixtureScratch& scratch, const View& in, const View& out) const {
  Device& device = pass.device;
  router(device, in, scratch.scores);
  device.route(scratch.scores, config.rule, choice_bias.get(), scratch.routing);
  const ExpertWeights weights{.gate = gate.get(),
                              .up = up.get(),
                              .down = down.get(),
                              .gate_bias = gate_bias.get(),
                              .up_bias = up_bias.get(),
                              .down_bias = down_bias.get(),
                              .activation = config.activation};
  device.experts(weights, in, scratch.routing, scratch.experts, out);
  device.all_reduce(out);
  if (!shared.has_value()) return;
  (*shared)(pass, scratch.shared, in, scratch.shared_out);
  if (shared_gate == nullptr) return device.add(out, scratch.shared_out);
  device.linear(*shared_gate, in, scratch.shared_gate);
  device.add_gated(out, scratch.shared_out, scratch.shared_gate);
}

}  // namespace plm
