// Plain versions of what mixtures of experts need besides matrix products (kernels/device.h).
// Tested by tests/kernels/cpu/test_cpu_experts.cpp.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/portable_math.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/lanes16.h"

namespace plm::reference {
namespace {

constexpr float kLeastSum = 1e-20F;

using Scores = std::array<float, RouterRule::kMostExperts>;

// Turns scores into e^(score - max) / sum; `add` says in which order they are summed.
template <typename Add>
void soften(float* scores, std::size_t count, Add add) {
  const float max = *std::max_element(scores, scores + count);
  for (std::size_t i = 0; i < count; ++i) scores[i] = exp_f32(scores[i] - max);
  const float sum = add();
  for (std::size_t i = 0; i < count; ++i) scores[i] = scores[i] / sum;
}

// The largest of `count` values that are not taken yet, the first among equals; taken from then on. NaN is least.
std::size_t take_best(const float* values, std::size_t count, std::array<bool, RouterRule::kMostExperts>& is_taken) {
  std::size_t best = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_taken[i]) continue;
    if (best == count || values[i] > values[best] || (std::isnan(values[best]) && !std::isnan(values[i]))) best = i;
  }
  is_taken[best] = true;
  return best;
}

class Router {
 public:
  Router(const RouteWork& work) : work_(work), rule_(work.rule), experts_(work.scores.columns) {}

  void route(std::size_t row) {
    const float* scores = work_.scores.row(row);
    std::copy_n(scores, experts_, weights_.begin());
    if (rule_.scores == RouterRule::Scores::sigmoid) {
      for (std::size_t e = 0; e < experts_; ++e) weights_[e] = sigmoid_f32(scores[e]);
    }
    if (rule_.scores == RouterRule::Scores::softmax) {
      soften(weights_.data(), experts_, [&] { return lanes16(experts_, [&](std::size_t e) { return weights_[e]; }); });
    }
    choose(work_.routing.row(row));
    weigh(work_.routing.row(row));
  }

 private:
  void choose(float* numbers) {
    for (std::size_t e = 0; e < experts_; ++e) {
      wishes_[e] = work_.bias != nullptr ? weights_[e] + work_.bias[e] : weights_[e];
    }
    is_taken_.fill(false);
    if (rule_.used_groups < rule_.groups) close_groups();
    for (std::size_t i = 0; i < rule_.used; ++i) {
      numbers[i] = static_cast<float>(take_best(wishes_.data(), experts_, is_taken_));
    }
  }

  // Takes all experts away that are not in the best groups.
  void close_groups() {
    const std::size_t size = experts_ / rule_.groups;
    Scores group_scores;
    for (std::size_t g = 0; g < rule_.groups; ++g) {
      std::array<bool, RouterRule::kMostExperts> is_counted{};
      float sum = 0;
      for (std::size_t i = 0; i < rule_.group_best; ++i) {
        sum += wishes_[g * size + take_best(wishes_.data() + g * size, size, is_counted)];
      }
      group_scores[g] = sum;
    }
    std::array<bool, RouterRule::kMostExperts> is_open{};
    for (std::size_t i = 0; i < rule_.used_groups; ++i) take_best(group_scores.data(), rule_.groups, is_open);
    for (std::size_t e = 0; e < experts_; ++e) is_taken_[e] = !is_open[e / size];
  }

  void weigh(float* routing) const {
    const std::size_t used = rule_.used;
    float* weights = routing + used;
    for (std::size_t i = 0; i < used; ++i) weights[i] = weights_[static_cast<std::size_t>(routing[i])];
    const auto sum = [&] {
      float all = 0;
      for (std::size_t i = 0; i < used; ++i) all += weights[i];
      return all;
    };
    if (rule_.scores == RouterRule::Scores::softmax_of_chosen) soften(weights, used, sum);
    const float divisor = rule_.is_normalised ? sum() + kLeastSum : 1;
    for (std::size_t i = 0; i < used; ++i) weights[i] = weights[i] / divisor * rule_.scale;
  }

  const RouteWork& work_;
  const RouterRule& rule_;
  std::size_t experts_;
  Scores weights_;  // what an expert's output is multiplied by, were it chosen
  Scores wishes_;   // what chooses
  std::array<bool, RouterRule::kMostExperts> is_taken_;
};

}  // namespace

void route(const RouteWork& work, Share rows) {
  Router router(work);
  for (std::size_t r = rows.begin; r < rows.end; ++r) router.route(r);
}

void sum_experts(const ExpertSumWork& work, Share rows) {
  const std::size_t used = work.routing.columns / 2;
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    float* out = work.out.row(r);
    std::fill_n(out, work.out.columns, 0.0F);
    for (std::size_t c = 0; c < used; ++c) {
      const float weight = work.routing.row(r)[used + c];
      const float* in = work.in.row(work.lists->place_of(r, c));
      for (std::size_t i = 0; i < work.out.columns; ++i) out[i] = std::fma(weight, in[i], out[i]);
    }
  }
}

void add_gated(const AddGatedWork& work, Share rows) {
  for (std::size_t r = rows.begin; r < rows.end; ++r) {
    const float weight = sigmoid_f32(work.gates.row(r)[0]);
    float* x = work.x.row(r);
    const float* y = work.y.row(r);
    for (std::size_t i = 0; i < work.x.columns; ++i) x[i] += y[i] * weight;
  }
}

}  // namespace plm::reference
