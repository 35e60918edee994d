// Caches of pages that are not exact. Where every row sees the whole page, each decided token changes all keys and
// values, so that nothing may be remembered; but most change little. These rules say which rows a pass computes anew
// and which are read as they were. Only by flag, and with a meter: beside some passes one over everything is run, and
// what the cache was off by is told (EventKind::drifted). That pass decides nothing.
//
//  prefix   When a block begins, everything is computed, and what is before the block remembered (Fast-dLLM, arXiv
//           2505.22618).
//  dual     The same, and what is behind the block as well.
//  delayed  A decided token is remembered from the pass on that has seen it decided (dKV-Cache, arXiv 2505.15781).
//
// Where row i - 1 speaks for position i, the row before the block belongs to it, and a token is remembered when it has
// nothing left to speak for. Tested by tests/decode/test_page_cache.cpp and tests/engine/test_parallel.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/settings.h"
#include "decode/canvas.h"
#include "decode/schedule.h"
#include "model/diffusion_traits.h"

namespace plm {

struct PageCacheRule {
  enum class Kind : std::uint8_t { exact, prefix, dual, delayed };
  Kind kind = Kind::exact;
  std::size_t refresh = 0;  ///< passes that read it before everything is computed anew; 0: as the kind says
  std::size_t meter = 0;    ///< every so many passes that read it are measured; 0: none
  bool shifts_logits = false;

  /// `settings` hold page_cache_parameters(). Error (usage): the model remembers exactly.
  static Result<PageCacheRule> create(const Settings& settings, const DiffusionTraits& traits);
};

[[nodiscard]] std::span<const Parameter> page_cache_parameters();

class PageCache {
 public:
  explicit PageCache(const PageCacheRule& rule) : rule_(rule) {}

  struct Pass {
    std::vector<std::uint32_t> positions;  ///< of the rows, in the order in which they come
    std::size_t kept = 0;                  ///< so many of the first are remembered
    bool begins_anew = false;              ///< all that was remembered is forgotten
    bool is_measured = false;
  };
  /// The next pass over a page, to decide positions of `block`. The page keeps its length.
  [[nodiscard]] Pass next(std::span<const Cell> cells, const PlannedBlock& block);

 private:
  void take_block(Pass& pass, const PlannedBlock& block) const;
  void take_decided(Pass& pass, std::span<const Cell> cells);
  [[nodiscard]] bool is_settled(std::span<const Cell> cells, std::size_t position) const;

  PageCacheRule rule_;
  std::vector<bool> is_kept_;  // by position; empty: nothing is remembered
  std::size_t block_start_ = 0;
  std::size_t reads_ = 0, reads_since_refresh_ = 0;
};

}  // namespace plm
