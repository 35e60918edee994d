// Schedules: which open positions a pass decides. Each is one file schedules/schedule_<name>.cpp; the registry is
// generated from the folder.
//
// A schedule is asked once for every pass over a block. It returns places in `Step::open`, in order, without repeats;
// it may return none only where its definition says so, and the decoder then sees to it that the text ends all the
// same. Ranking: higher score first, ties by position. Comparisons are strict as written in each file. Tested by
// tests/decode/test_golden_steps.cpp and, for every registered schedule, tests/contract/test_schedules.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/definition.h"
#include "base/error.h"
#include "base/settings.h"

namespace plm {

/// A position that is still to be decided, as the pass sees it.
struct OpenPosition {
  std::size_t position = 0;  ///< from the start of the block
  double score = 0;          ///< confidence; -inf: to be taken last
  double entropy = 0;        ///< nats
  double uniform = 0;        ///< a random number in (0, 1) of this position and pass
  /// KL divergence of the distribution from that of the pass before, newest last; only for schedules that ask.
  std::span<const double> changes = {};
};

/// One pass over a block.
struct Step {
  std::span<const OpenPosition> open;  ///< at least one, by position
  std::size_t index = 0;               ///< of the pass within the block
  std::size_t passes = 0;              ///< passes planned for the block, at least 1
  std::size_t block_length = 0;
  std::size_t open_at_start = 0;  ///< positions that were open when the block began
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Whether it reads OpenPosition::changes, for which distributions must be kept from pass to pass.
  [[nodiscard]] virtual bool reads_changes() const { return false; }
  [[nodiscard]] virtual std::vector<std::size_t> choose(const Step& step) const = 0;
};

struct ScheduleDefinition {
  Definition head;
  Result<std::unique_ptr<Schedule>> (*create)(const Settings& settings);
};

/// All schedules, sorted by name (generated).
[[nodiscard]] std::span<const ScheduleDefinition* const> schedules();
/// By name or alias; null if there is none.
[[nodiscard]] const ScheduleDefinition* find_schedule(std::string_view name);

/// Shared by the schedules that ask for a confidence.
inline constexpr Parameter kThreshold = {
    .name = "threshold",
    .summary = "confidence above which a position is decided",
    .type = ParameterType::real,
    .standard = 0.9,
    .min = 0,
    .max = 1,
};

/// Shared by the schedules that follow the masking process: time runs from 1 to time_end in equal steps.
inline constexpr Parameter kTimeEnd = {
    .name = "time_end",
    .summary = "time at the end of the process",
    .type = ParameterType::real,
    .standard = 1e-3,
    .min = 0,
    .max = 0.999999,
};
/// The share of the open positions that the step unmasks on average: 1 - s / t for a step from t to s; all in the last.
[[nodiscard]] double unmasked_share(const Step& step, double time_end);

/// Places of the best `count` by score; `keys`, if any, rank in place of the scores.
[[nodiscard]] std::vector<std::size_t> best_of(std::span<const OpenPosition> open, std::size_t count,
                                               std::span<const double> keys = {});
/// Places of all, best first.
[[nodiscard]] std::vector<std::size_t> by_score(std::span<const OpenPosition> open, std::span<const double> keys = {});
/// Places whose score is above `threshold`.
[[nodiscard]] std::vector<std::size_t> above(std::span<const OpenPosition> open, double threshold);

/// How many of `count` positions each of `passes` passes decides: as equal as can be, the first ones more.
[[nodiscard]] std::size_t equal_share(std::size_t count, std::size_t passes, std::size_t index);

/// A block of a canvas and the passes planned for it.
struct PlannedBlock {
  std::size_t start;
  std::size_t length;
  std::size_t passes;
};
/// Cuts `length` positions into blocks (the last may be shorter; block_length 0: one block) and shares `passes` among
/// them as equally as can be: each has at least one, none more than it has positions.
[[nodiscard]] std::vector<PlannedBlock> plan_blocks(std::size_t length, std::size_t block_length, std::size_t passes);

}  // namespace plm
