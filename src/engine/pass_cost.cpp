#include "engine/pass_cost.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace plm {
namespace {

// Any ids will do: what a pass costs does not depend on them.
std::vector<TokenId> some_tokens(std::size_t count, std::size_t vocab_size) {
  std::vector<TokenId> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<TokenId>((7 * i + 3) % vocab_size);
  return tokens;
}

Task<Result<void>> run_pass(Session& session, std::vector<TokenId> tokens, PassUse use) {
  std::vector<Yield> yields;
  for (std::uint32_t row = 0; use != PassUse::keep && row < tokens.size(); ++row) {
    yields.push_back({.row = row, .kind = YieldKind::statistics});
  }
  const PassRequest request{.tokens = tokens,
                            .state = use == PassUse::refine ? StateUse::scratch : StateUse::append,
                            .sight = use == PassUse::refine ? Sight::bidirectional : Sight::causal,
                            .yields = yields};
  const Result<PassAnswer> answer = co_await session.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  co_return Result<void>{};
}

Result<void> finish(Engine& engine, std::vector<Task<Result<void>>>& tasks, const std::function<bool()>& interrupted) {
  for (auto& task : tasks) task.start();
  PLM_TRY(engine.run(interrupted));
  for (auto& task : tasks) {
    if (!task.done()) return fail(ErrorKind::interrupted, "measuring passes: interrupted");
    PLM_TRY(task.take());
  }
  return {};
}

}  // namespace

Result<void> PassMeter::prepare(std::size_t sequences) {
  std::vector<Task<Result<void>>> tasks;
  while (prefixes_.size() < sequences) {
    prefixes_.push_back(engine_.open_session());
    if (context_ == 0) continue;
    tasks.push_back(run_pass(*prefixes_.back(), some_tokens(context_, engine_.shape().vocab_size), PassUse::keep));
  }
  return finish(engine_, tasks, interrupted_);
}

Result<double> PassMeter::once(PassUse use, std::size_t rows, std::size_t sequences) {
  std::vector<std::unique_ptr<EngineSession>> sessions;
  std::vector<Task<Result<void>>> tasks;
  for (std::size_t i = 0; i < sequences; ++i) {
    sessions.push_back(engine_.open_session());
    sessions.back()->state() = prefixes_[i]->state().fork();
    tasks.push_back(run_pass(*sessions.back(), some_tokens(rows, engine_.shape().vocab_size), use));
  }
  const Stopwatch watch;
  PLM_TRY(finish(engine_, tasks, interrupted_));
  return watch.elapsed_ms();
}

Result<double> PassMeter::median_ms(PassUse use, std::size_t rows, std::size_t sequences, std::size_t repeats) {
  PLM_CHECK(rows > 0 && sequences > 0 && repeats > 0);
  PLM_TRY(prepare(sequences));
  PLM_TRY(once(use, rows, sequences));
  std::vector<double> times;
  for (std::size_t i = 0; i < repeats; ++i) {
    PLM_TRY_ASSIGN(times.emplace_back(), once(use, rows, sequences));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

std::optional<double> break_even(const BlockCost& cost, std::size_t length) {
  const auto tokens = static_cast<double>(length);
  const double left = tokens * cost.write - cost.keep;
  if (left <= 0) return std::nullopt;
  return tokens * cost.refine / left;
}

double block_rate(const BlockCost& cost, std::size_t length, double tokens_per_pass) {
  const double passes = std::ceil(static_cast<double>(length) / tokens_per_pass);
  return 1000 * static_cast<double>(length) / (passes * cost.refine + cost.keep);
}

}  // namespace plm
