// The policy of a parallel decoder: how a page is cut into blocks, what is proposed, how sure, and what a pass decides.
// Read once from a request's settings. Tested by tests/decode/test_parallel_policy.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/settings.h"
#include "decode/page_cache.h"
#include "decode/proposal.h"
#include "decode/schedule.h"
#include "model/diffusion_traits.h"

namespace plm {

struct ParallelPolicy {
  DiffusionTraits traits;
  Settings settings;  ///< of parallel_parameters(); a decoder reads its own from here
  ProposalRule rule;
  std::unique_ptr<const Schedule> schedule;
  std::string_view schedule_name;
  PageCacheRule cache;
  std::size_t block_length = 0;  ///< 0: the whole page is one block
  std::size_t passes = 0;        ///< 0: as many as there are positions
  bool draws = false;            ///< proposals are drawn rather than the largest
  bool finds_length = false;     ///< the length asked for is the most; the model tells how much of it is wanted

  /// `settings` hold parallel_parameters(). Errors (usage) name the parameter.
  static Result<ParallelPolicy> create(const Settings& settings, const DiffusionTraits& traits);
};

/// What the parameter `length` says: a number of tokens, or nothing, when it is `auto` or not set. Error (usage):
/// neither.
[[nodiscard]] Result<std::optional<std::size_t>> page_length(const Settings& settings);

/// `schedule`, `confidence`, the page's own, and the parameters of every schedule and parallel decoder, each name once.
[[nodiscard]] std::span<const Parameter> parallel_parameters();

}  // namespace plm
