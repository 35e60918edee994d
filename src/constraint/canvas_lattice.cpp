#include "constraint/canvas_lattice.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "base/portable_math.h"

namespace plm {
namespace {

// log(exp(a) + exp(b)).
double add_logs(double a, double b) {
  if (a < b) std::swap(a, b);
  return std::isinf(b) ? a : a + log_f64(1 + exp_f64(b - a));
}

}  // namespace

CanvasLattice::CanvasLattice(std::shared_ptr<const CanvasAutomaton> automaton, std::span<const CanvasCell> cells)
    : automaton_(std::move(automaton)), cells_(cells.begin(), cells.end()) {
  const std::size_t count = cells_.size(), states = automaton_->states();
  class_best_.resize(count);
  class_sum_.resize(count);
  class_token_.resize(count);
  for (std::size_t cell = 0; cell < count; ++cell) weigh(cell);
  best_.assign(count + 1, std::vector<double>(states, kNever));
  sum_ = before_ = best_;
  for (State state = 0; state < states; ++state) {
    if (automaton_->accepts(state)) best_[count][state] = sum_[count][state] = 0;
  }
  before_[0][automaton_->start()] = 0;
  for (std::size_t cell = count; cell-- > 0;) look_back(cell);
  for (std::size_t cell = 0; cell < count; ++cell) look_ahead(cell);
}

// The weights of a cell's classes: the only part that looks at the whole vocabulary.
void CanvasLattice::weigh(std::size_t cell) {
  const std::size_t classes = automaton_->classes();
  auto& best = class_best_[cell];
  auto& sum = class_sum_[cell];
  auto& token = class_token_[cell];
  best.assign(classes, kNever);
  token.assign(classes, kNoToken);
  if (!is_open(cell)) {
    const auto tokens = automaton_->class_of(cells_[cell].token);
    best[tokens] = 0;
    token[tokens] = cells_[cell].token;
    sum = best;
    return;
  }
  const auto row = cells_[cell].log_probabilities;
  if (row.empty()) {
    sum.assign(classes, kNever);
    const double each = -log_f64(static_cast<double>(automaton_->vocabulary()));
    for (std::uint32_t tokens = 0; tokens < classes; ++tokens) {
      best[tokens] = each;
      sum[tokens] = each + log_f64(static_cast<double>(automaton_->class_size(tokens)));
      token[tokens] = automaton_->first_token(tokens);
    }
    return;
  }
  for (std::size_t id = 0; id < row.size(); ++id) {
    const auto tokens = automaton_->class_of(static_cast<TokenId>(id));
    if (row[id] > best[tokens]) {
      best[tokens] = row[id];
      token[tokens] = static_cast<TokenId>(id);
    }
  }
  std::vector<double> scaled(classes, 0.0);
  for (std::size_t id = 0; id < row.size(); ++id) {
    const auto tokens = automaton_->class_of(static_cast<TokenId>(id));
    if (row[id] != kNever) scaled[tokens] += exp_f64(row[id] - best[tokens]);
  }
  sum.assign(classes, kNever);
  for (std::size_t tokens = 0; tokens < classes; ++tokens) {
    if (best[tokens] != kNever) sum[tokens] = best[tokens] + log_f64(scaled[tokens]);
  }
}

void CanvasLattice::look_back(std::size_t cell) {
  for (State state = 0; state < automaton_->states(); ++state) {
    double& best = best_[cell][state];
    double& sum = sum_[cell][state];
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      if (class_best_[cell][arc.tokens] == kNever || best_[cell + 1][arc.target] == kNever) continue;
      best = std::max(best, class_best_[cell][arc.tokens] + best_[cell + 1][arc.target]);
      sum = add_logs(sum, class_sum_[cell][arc.tokens] + sum_[cell + 1][arc.target]);
    }
  }
}

void CanvasLattice::look_ahead(std::size_t cell) {
  for (State state = 0; state < automaton_->states(); ++state) {
    if (before_[cell][state] == kNever) continue;
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      if (class_sum_[cell][arc.tokens] == kNever) continue;
      double& target = before_[cell + 1][arc.target];
      target = add_logs(target, before_[cell][state] + class_sum_[cell][arc.tokens]);
    }
  }
}

std::vector<TokenId> CanvasLattice::best() const {
  std::vector<TokenId> page;
  if (!is_possible()) return page;
  State state = automaton_->start();
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    TokenId chosen = kNoToken;
    State target = state;
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      const TokenId token = class_token_[cell][arc.tokens];
      const bool on_path = token != kNoToken && best_[cell + 1][arc.target] != kNever &&
                           class_best_[cell][arc.tokens] + best_[cell + 1][arc.target] == best_[cell][state];
      if (!on_path || (chosen != kNoToken && token > chosen)) continue;
      chosen = token;
      target = arc.target;
    }
    page.push_back(chosen);
    state = target;
  }
  return page;
}

std::vector<TokenId> CanvasLattice::sample(std::span<const double> uniform) const {
  std::vector<TokenId> page;
  if (!is_possible()) return page;
  State state = automaton_->start();
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    double left = uniform[cell];
    const CanvasAutomaton::Arc* taken = nullptr;
    double share = 0;
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      const double weight = class_sum_[cell][arc.tokens] + sum_[cell + 1][arc.target];
      if (std::isinf(weight)) continue;
      taken = &arc;  // the last one takes what rounding leaves
      share = exp_f64(weight - sum_[cell][state]);
      if (left < share) break;
      left -= share;
    }
    page.push_back(draw_token(cell, taken->tokens, std::min(left / share, 1.0)));
    state = taken->target;
  }
  return page;
}

// A token of a class, by the cell's own probabilities.
TokenId CanvasLattice::draw_token(std::size_t cell, std::uint32_t tokens, double uniform) const {
  if (!is_open(cell)) return cells_[cell].token;
  const auto row = cells_[cell].log_probabilities;
  const double each = 1.0 / static_cast<double>(automaton_->class_size(tokens));
  TokenId last = kNoToken;
  for (std::size_t id = 0; id < automaton_->vocabulary(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (automaton_->class_of(token) != tokens || (!row.empty() && row[id] == kNever)) continue;
    const double share = row.empty() ? each : exp_f64(row[id] - class_sum_[cell][tokens]);
    last = token;
    if (uniform < share) break;
    uniform -= share;
  }
  return last;
}

std::vector<double> CanvasLattice::marginals(std::size_t cell) const {
  std::vector<double> by_class(automaton_->classes(), kNever);
  for (State state = 0; state < automaton_->states(); ++state) {
    if (before_[cell][state] == kNever) continue;
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      const double outside = before_[cell][state] + sum_[cell + 1][arc.target];
      if (outside != kNever) by_class[arc.tokens] = add_logs(by_class[arc.tokens], outside);
    }
  }
  std::vector<double> result(automaton_->vocabulary(), kNever);
  const auto row = cells_[cell].log_probabilities;
  const double each = -log_f64(static_cast<double>(automaton_->vocabulary()));
  for (std::size_t id = 0; id < result.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (!is_open(cell) && token != cells_[cell].token) continue;
    const double own = !is_open(cell) ? 0 : row.empty() ? each : row[id];
    const double outside = by_class[automaton_->class_of(token)];
    if (own != kNever && outside != kNever) result[id] = own + outside - log_mass();
  }
  return result;
}

// The shortest way through (cell, state), where a token that has no slot costs one; it may stand beside an open cell.
std::optional<std::size_t> CanvasLattice::missing_slots() const {
  const std::size_t count = cells_.size(), states = automaton_->states();
  std::vector<std::size_t> cost((count + 1) * states, SIZE_MAX);
  std::deque<std::pair<std::size_t, std::size_t>> work;  // cost, place
  const auto reach = [&](std::size_t place, std::size_t price, bool free) {
    if (cost[place] <= price) return;
    cost[place] = price;
    free ? work.emplace_front(price, place) : work.emplace_back(price, place);
  };
  reach(automaton_->start(), 0, true);
  while (!work.empty()) {
    const auto [price, place] = work.front();
    work.pop_front();
    if (price > cost[place]) continue;
    const std::size_t cell = place / states;
    const auto state = static_cast<State>(place % states);
    if (cell == count && automaton_->accepts(state)) return price;
    const bool may_grow = count == 0 || (cell < count && is_open(cell)) || (cell > 0 && is_open(cell - 1));
    for (const CanvasAutomaton::Arc& arc : automaton_->arcs(state)) {
      if (cell < count && class_best_[cell][arc.tokens] != kNever) reach((cell + 1) * states + arc.target, price, true);
      if (may_grow) reach(cell * states + arc.target, price + 1, false);
    }
  }
  return std::nullopt;
}

}  // namespace plm
