#include "engine/hidden_rows.h"

#include <algorithm>
#include <numeric>

namespace plm {
namespace {

constexpr std::size_t kMostTexts = 64;                // at a time
constexpr std::size_t kMostStateBytes = 512UL << 20;  // of them together
constexpr std::size_t kMostReadNumbers = 64UL << 20;  // likewise, of what is read

// One text's pass.
Task<Result<PassAnswer>> read(Session& session, const RowsWanted& wanted, bool is_causal) {
  std::vector<Yield> yields;
  for (const std::uint32_t row : wanted.rows) yields.push_back({row, wanted.kind, 0});
  const PassRequest request{.tokens = wanted.text->tokens,
                            .state = is_causal ? StateUse::append : StateUse::scratch,
                            .sight = is_causal ? Sight::causal : Sight::bidirectional,
                            .types = wanted.text->types,
                            .yields = yields};
  Result<PassAnswer> answer = co_await session.pass(request);
  co_return answer;
}

struct Reading {
  std::unique_ptr<EngineSession> session;
  Task<Result<PassAnswer>> task;  // last, so that it goes first
};

// How many of the texts from `first` on are read together: bounded by memory for their state and for what is read.
std::size_t count_together(const Engine& engine, std::span<const RowsWanted> wanted) {
  std::size_t state_bytes = 0, numbers = 0, count = 0;
  while (count < std::min({wanted.size(), kMostTexts, engine.most_sequences()})) {
    const std::size_t pages = (wanted[count].text->tokens.size() + kPageCells - 1) / kPageCells;
    state_bytes += pages * engine.state_layout().page_bytes;
    const bool is_hidden = wanted[count].kind == YieldKind::hidden;
    numbers += wanted[count].rows.size() * (is_hidden ? engine.shape().hidden_size : engine.shape().vocab_size);
    if (count > 0 && (state_bytes > kMostStateBytes || numbers > kMostReadNumbers)) break;
    ++count;
  }
  return count;
}

Result<void> read_together(Engine& engine, std::span<const RowsWanted> wanted, const std::function<bool()>& interrupted,
                           std::vector<Reading>& readings) {
  for (const RowsWanted& one : wanted) {
    auto session = engine.open_session();
    auto task = read(*session, one, engine.shape().is_causal);
    readings.push_back({std::move(session), std::move(task)});
    readings.back().task.start();
  }
  const auto is_whole = [&] {
    return std::ranges::all_of(readings, [](const Reading& reading) { return reading.task.done(); });
  };
  // Others' texts may go on for long: their batches are run no longer than these readings take.
  PLM_TRY(engine.run([&] { return is_whole() || (interrupted && interrupted()); }));
  return is_whole() ? Result<void>() : fail(ErrorKind::interrupted, "texts: interrupted");
}

}  // namespace

Result<void> read_rows(Engine& engine, std::span<const RowsWanted> wanted, const RowsReader& reader,
                       const ReadingHooks& hooks) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    PLM_CHECK(wanted[i].kind == YieldKind::hidden || wanted[i].kind == YieldKind::logits);
    const auto checked = engine.check_prompt(wanted[i].text->tokens);
    if (!checked.has_value()) return tl::unexpected<Error>(checked.error().within(fmt::format("text {}", i + 1)));
  }
  for (std::size_t first = 0; first < wanted.size();) {
    const auto some = wanted.subspan(first, count_together(engine, wanted.subspan(first)));
    std::vector<Reading> readings;
    PLM_TRY(read_together(engine, some, hooks.interrupted, readings));
    for (std::size_t i = 0; i < readings.size(); ++i) {
      PLM_TRY_ASSIGN(PassAnswer answer, readings[i].task.take());
      std::vector<std::vector<float>> rows;
      for (YieldResult& result : answer.results) rows.push_back(std::move(result.values));
      PLM_TRY(reader(first + i, std::move(rows)));
    }
    first += some.size();
    if (hooks.on_progress) hooks.on_progress(static_cast<double>(first) / static_cast<double>(wanted.size()));
  }
  return {};
}

std::vector<std::uint32_t> rows_for(Pooling pooling, std::size_t tokens) {
  PLM_CHECK(tokens > 0);
  if (pooling == Pooling::cls) return {0};
  if (pooling == Pooling::last) return {static_cast<std::uint32_t>(tokens - 1)};
  std::vector<std::uint32_t> all(tokens);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<float> pooled(const std::vector<std::vector<float>>& rows) {
  PLM_CHECK(!rows.empty());
  if (rows.size() == 1) return rows.front();
  std::vector<double> sums(rows.front().size());
  for (const std::vector<float>& row : rows) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  }
  std::vector<float> mean(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    mean[i] = static_cast<float>(sums[i] / static_cast<double>(rows.size()));
  return mean;
}

}  // namespace plm
