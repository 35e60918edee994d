#include "engine/score.h"

#include <algorithm>

#include "base/portable_math.h"

namespace plm {
namespace {

constexpr std::size_t kChunkRows = 64;  // logits of a chunk lie in memory at once

struct ScoreTask {
  ScoreRequest request;
  const std::function<void(const ScoredPosition&)>& on_position;
};

Result<LogProbabilities> distribution_at(const PassAnswer& answer, std::size_t row, std::size_t place) {
  auto distribution = LogProbabilities::of(answer.results[row].values);
  if (distribution.has_value()) return distribution;
  return tl::unexpected<Error>(distribution.error().within(fmt::format("position {}", place)));
}

// Reads one chunk's logits. `next` carries the probability of the following token from row to row. `exact`: the answer
// to compare with, or null.
struct ChunkReader {
  const ScoreTask& task;
  Score& score;
  std::optional<double> next = {};

  Result<void> read(std::size_t first, const PassAnswer& answer, const PassAnswer* exact) {
    const std::span<const TokenId> ids = task.request.ids;
    for (std::size_t row = 0; row < answer.results.size(); ++row) {
      const std::size_t place = first + row;
      PLM_TRY_ASSIGN(const LogProbabilities distribution, distribution_at(answer, row, place));
      ScoredPosition position{ids[place], next, distribution.top(task.request.top), std::nullopt};
      if (exact != nullptr) {
        PLM_TRY_ASSIGN(const LogProbabilities wanted, distribution_at(*exact, row, place));
        compare(wanted, distribution, position);
      }
      if (next.has_value()) {
        score.log_probability_sum += *next;
        ++score.tokens;
      }
      if (place + 1 < ids.size()) next = distribution.of_token(ids[place + 1]);
      task.on_position(position);
    }
    return {};
  }

  void compare(const LogProbabilities& exact, const LogProbabilities& distribution, ScoredPosition& position) {
    position.divergence = exact.divergence_from(distribution);
    score.divergence_sum += *position.divergence;
    ++score.compared;
    if (exact.top(1).front().id == distribution.top(1).front().id) ++score.same_best;
  }
};

Task<Result<Score>> run(Session& session, Session* exact, ScoreTask task) {
  Score score;
  ChunkReader reader{.task = task, .score = score};
  const std::span<const TokenId> ids = task.request.ids;
  for (std::size_t first = 0; first < ids.size(); first += kChunkRows) {
    const auto chunk = ids.subspan(first, std::min(kChunkRows, ids.size() - first));
    std::vector<Yield> yields;
    for (std::uint32_t row = 0; row < chunk.size(); ++row) yields.push_back({row, YieldKind::logits, 0});
    const PassRequest request{.tokens = chunk, .yields = yields};
    const Result<PassAnswer> answer = co_await session.pass(request);
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    Result<PassAnswer> wanted;
    if (exact != nullptr) wanted = co_await exact->pass(request);
    if (!wanted.has_value()) co_return tl::unexpected<Error>(wanted.error());
    const Result<void> read = reader.read(first, *answer, exact != nullptr ? &*wanted : nullptr);
    if (!read.has_value()) co_return tl::unexpected<Error>(read.error());
  }
  co_return score;
}

}  // namespace

double Score::perplexity() const {
  return tokens == 0 ? 1.0 : exp_f64(-log_probability_sum / static_cast<double>(tokens));
}

double Score::mean_divergence() const { return compared == 0 ? 0.0 : divergence_sum / static_cast<double>(compared); }

Score& Score::operator+=(const Score& other) {
  tokens += other.tokens;
  log_probability_sum += other.log_probability_sum;
  compared += other.compared;
  divergence_sum += other.divergence_sum;
  same_best += other.same_best;
  return *this;
}

Result<Score> score(Engine& engine, const ScoreRequest& request,
                    const std::function<void(const ScoredPosition&)>& on_position,
                    const std::function<bool()>& interrupted) {
  PLM_TRY(engine.check_prompt(request.ids));
  const auto session = engine.open_session();
  const auto exact = request.exact != nullptr ? request.exact->open_session() : nullptr;
  Task<Result<Score>> task = run(*session, exact.get(), ScoreTask{request, on_position});
  task.start();
  // A chunk here, then the same one there.
  do {
    PLM_TRY(engine.run(interrupted));
    if (exact != nullptr) PLM_TRY(request.exact->run(interrupted));
  } while (!task.done() && !(interrupted && interrupted()));
  if (!task.done()) return fail(ErrorKind::interrupted, "scoring: interrupted");
  return task.take();
}

}  // namespace plm
