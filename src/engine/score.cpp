#include "engine/score.h"

#include <algorithm>

#include "base/portable_math.h"

namespace plm {
namespace {

constexpr std::size_t kChunkRows = 64;  // logits of a chunk lie in memory at once

struct ScoreTask {
  std::span<const TokenId> ids;
  std::size_t top;
  const std::function<void(const ScoredPosition&)>& on_position;
};

// Reads one chunk's logits. `next` carries the probability of the following token from row to row.
Result<void> read_chunk(const ScoreTask& task, std::size_t first, const PassAnswer& answer, std::optional<double>& next,
                        Score& score) {
  for (std::size_t row = 0; row < answer.results.size(); ++row) {
    const std::size_t place = first + row;
    const auto distribution = LogProbabilities::of(answer.results[row].values);
    if (!distribution.has_value()) {
      return tl::unexpected<Error>(distribution.error().within(fmt::format("position {}", place)));
    }
    const ScoredPosition position{task.ids[place], next, distribution->top(task.top)};
    if (next.has_value()) {
      score.log_probability_sum += *next;
      ++score.tokens;
    }
    if (place + 1 < task.ids.size()) next = distribution->of_token(task.ids[place + 1]);
    task.on_position(position);
  }
  return {};
}

Task<Result<Score>> run(Session& session, ScoreTask task) {
  Score score;
  std::optional<double> next;
  for (std::size_t first = 0; first < task.ids.size(); first += kChunkRows) {
    const auto chunk = task.ids.subspan(first, std::min(kChunkRows, task.ids.size() - first));
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; row < chunk.size(); ++row) yields.push_back({row, YieldKind::logits, 0});
    const PassRequest request{.tokens = chunk, .yields = yields};
    const Result<PassAnswer> answer = co_await session.pass(request);
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    const Result<void> read = read_chunk(task, first, *answer, next, score);
    if (!read.has_value()) co_return tl::unexpected<Error>(read.error());
  }
  co_return score;
}

}  // namespace

double Score::perplexity() const {
  return tokens == 0 ? 1.0 : exp_f64(-log_probability_sum / static_cast<double>(tokens));
}

Result<Score> score(Engine& engine, std::span<const TokenId> ids, std::size_t top,
                    const std::function<void(const ScoredPosition&)>& on_position,
                    const std::function<bool()>& interrupted) {
  PLM_TRY(engine.check_prompt(ids));
  const auto session = engine.open_session();
  Task<Result<Score>> task = run(*session, ScoreTask{ids, top, on_position});
  task.start();
  PLM_TRY(engine.run(interrupted));
  if (!task.done()) return fail(ErrorKind::interrupted, "scoring: interrupted");
  return task.take();
}

}  // namespace plm
