// The order of a chain as data, in the three notations that people bring along:
//   names    "penalties;dry;top_k=3000;top_p;temperature" (llama.cpp's --samplers); "=" fixes, for this place, the
//   value
//            of the sampler's first parameter
//   letters  "edskypmxt" (llama.cpp's --sampler-seq)
//   numbers  "6,0,1,3,4,2,5" (KoboldCpp's sampler_order), also as a JSON array
// A sampler named twice runs twice; one that is left out does not run. Tested by tests/sampling/test_order.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sampling/sampler.h"

namespace plm {

struct OrderItem {
  const SamplerDefinition* definition = nullptr;
  std::string value = {};  ///< of the first parameter, for this place; empty: as set
};

/// Places in a chain at most; every one costs a pass over the candidates.
inline constexpr std::size_t kMostSamplers = 256;

/// What to do with a name that is not known: `--samplers` refuses it, llama.cpp's requests pass over it.
struct UnknownSamplers {
  bool are_skipped = false;
  std::vector<std::string> skipped = {};
};

/// Errors (usage) of all three: an unknown name, letter or number, with the known ones; too many.
[[nodiscard]] Result<std::vector<OrderItem>> order_of_names(std::string_view names, UnknownSamplers& unknown);
[[nodiscard]] Result<std::vector<OrderItem>> order_of_letters(std::string_view letters, UnknownSamplers& unknown);
[[nodiscard]] Result<std::vector<OrderItem>> order_of_numbers(std::string_view numbers);

}  // namespace plm
