#include "plan/context_limits.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plan/gguf_sketch.h"

namespace plm {

std::uint64_t ContextLimits::least() const {
  std::uint64_t least = 0;
  for (const std::uint64_t limit : {configured, positional, trained, effective.value_or(0)}) {
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

ContextLimits context_limits(const GgufFile& file, std::uint64_t configured) {
  const SizeKeys keys(file);
  ContextLimits limits{.configured = configured, .effective = {}};
  const std::uint64_t stated = keys.number("context_length");
  const std::uint64_t before = keys.number("rope.scaling.original_context_length");
  limits.positional = limits.trained = stated;
  if (before > 0) limits.trained = before;
  // Old files state the factor alone, and the length before it was applied.
  const MetaValue* factor = keys.find("rope.scaling.factor");
  const double times = factor != nullptr ? factor->as_real().value_or(1) : 1;
  if (before == 0 && times > 1 && times < 1e6) {
    limits.positional = static_cast<std::uint64_t>(std::llround(static_cast<double>(stated) * times));
  }
  const TensorEntry* table = file.find_tensor("position_embd.weight");
  if (table != nullptr) limits.positional = table->dims[1];
  return limits;
}

std::vector<std::string> context_warnings(const ContextLimits& limits) {
  std::vector<std::string> warnings;
  const std::uint64_t configured = limits.configured;
  if (limits.positional > 0 && configured > limits.positional) {
    warnings.push_back(
        fmt::format("context of {} tokens, the network has positions for {}: what lies beyond cannot be "
                    "told apart",
                    configured, limits.positional));
  }
  if (limits.trained > 0 && configured > limits.trained && configured <= std::max(limits.positional, limits.trained)) {
    warnings.push_back(
        fmt::format("context of {} tokens, trained with {} and stretched to {}: positions beyond the "
                    "training are there, but were never learned from",
                    configured, limits.trained, limits.positional));
  }
  if (limits.effective.has_value() && configured > *limits.effective) {
    warnings.push_back(
        fmt::format("context of {} tokens, of which the model uses about {}: more room costs memory and "
                    "time, and is not read",
                    configured, *limits.effective));
  }
  return warnings;
}

}  // namespace plm
