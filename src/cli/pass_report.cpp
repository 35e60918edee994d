#include "cli/pass_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"

namespace plm {
namespace {

constexpr std::size_t kMostNamed = 4;  // kinds of passes in a line

double share(double part, std::size_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

double share(std::size_t part, std::size_t whole) { return share(static_cast<double>(part), whole); }

// The most frequent first.
std::string costs(const PassTally& tally) {
  std::vector<std::pair<std::size_t, PassTally::Cost>> kinds(tally.by_rows().begin(), tally.by_rows().end());
  std::ranges::sort(kinds, [](const auto& a, const auto& b) {
    return a.second.passes != b.second.passes ? a.second.passes > b.second.passes : a.first < b.first;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostNamed); ++i) {
    const auto& [rows, cost] = kinds[i];
    text +=
        fmt::format("{}{} of {} rows at {:.2f} ms", i == 0 ? "" : ", ", cost.passes, rows, share(cost.ms, cost.passes));
  }
  return text + (kinds.size() > kMostNamed ? ", and others" : "");
}

}  // namespace

Json pass_json(const PassTally& tally, std::size_t tokens) {
  Json by_rows = Json::array();
  for (const auto& [rows, cost] : tally.by_rows()) {
    by_rows.push_back({{"rows", rows}, {"passes", cost.passes}, {"mean_ms", share(cost.ms, cost.passes)}});
  }
  Json json = {{"count", tally.passes()},
               {"tokens_per_pass", share(tokens, tally.passes())},
               {"rows", tally.rows()},
               {"cells_reused", tally.reused()},
               {"cache_hit_rate", tally.hit_rate()},
               {"by_rows", std::move(by_rows)}};
  const PassTally::Drift& drift = tally.drift();
  if (drift.measured > 0) {
    json["drift"] = {{"passes_measured", drift.measured},
                     {"rows_compared", drift.rows},
                     {"flipped_share", share(drift.flipped, drift.rows)},
                     {"largest_logit_change", drift.largest_logit_change},
                     {"ms", drift.ms}};
  }
  return json;
}

std::string pass_report(const PassTally& tally, std::size_t tokens) {
  std::string report = fmt::format("[{} passes, {:.2f} tokens a pass, {:.0f} % of the cells read from memory; {}]",
                                   tally.passes(), share(tokens, tally.passes()), 100 * tally.hit_rate(), costs(tally));
  const PassTally::Drift& drift = tally.drift();
  if (drift.measured == 0) return report;
  return report + fmt::format(
                      "\n[cache that is not exact, measured in {} passes: largest change of a logit {:.3f}, "
                      "another likeliest token in {:.2f} % of {} rows]",
                      drift.measured, drift.largest_logit_change, 100 * share(drift.flipped, drift.rows), drift.rows);
}

}  // namespace plm
