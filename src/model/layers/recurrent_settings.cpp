#include "model/layers/recurrent_settings.h"

namespace plm {
namespace {

constexpr double kNoLimit = 1e6;  // of a step, which is softplus of a number of moderate size

}  // namespace

Result<void> refuse_other_scans(const ConfigReader& config, std::string_view activation) {
  PLM_TRY_ASSIGN(const std::string found, config.text_or(activation, "silu"));
  if (found != "silu" && found != "swish") return config.error(activation, "\"silu\"; this version has no other here");
  PLM_TRY_ASSIGN(const std::vector<double> limits, config.reals_or_none("time_step_limit"));
  const bool is_free = limits.empty() || (limits.size() == 2 && limits[0] <= 0 && limits[1] >= kNoLimit);
  if (!is_free) return config.error("time_step_limit", "[0, Infinity]; this version limits no time steps");
  return {};
}

}  // namespace plm
