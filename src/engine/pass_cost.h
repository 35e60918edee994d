// What a pass of so many rows costs on this machine, and from how many tokens a pass on parallel decoding is faster
// than one token after another. Measured with real passes of real sessions through the scheduler. Source: datasheet 44
// and 45. Tested by tests/engine/test_pass_cost.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"

namespace plm {

/// What the passes of one measurement are for.
enum class PassUse {
  write,   ///< one row a sequence, its likeliest token is asked for, the state grows
  refine,  ///< rows of a block that see each other and are forgotten; the likeliest token of each is asked for
  keep,    ///< rows of a finished block that the sequence remembers; nothing is asked for
};

class PassMeter {
 public:
  /// `context`: tokens that every sequence has in its state. The engine must outlive the meter.
  PassMeter(Engine& engine, std::size_t context, std::function<bool()> interrupted = {})
      : engine_(engine), context_(context), interrupted_(std::move(interrupted)) {}

  /// Milliseconds of one pass of `rows` rows in each of `sequences` sequences at once: the median of `repeats`, after
  /// one that does not count. Errors: no_room, interrupted.
  Result<double> median_ms(PassUse use, std::size_t rows, std::size_t sequences, std::size_t repeats);

 private:
  Result<void> prepare(std::size_t sequences);
  Result<double> once(PassUse use, std::size_t rows, std::size_t sequences);

  Engine& engine_;
  std::size_t context_;
  std::function<bool()> interrupted_;
  std::vector<std::unique_ptr<EngineSession>> prefixes_;
};

/// Times of one block, in any one unit.
struct BlockCost {
  double write;   ///< of a pass that writes one token
  double refine;  ///< of a pass over the block
  double keep;    ///< of the pass that remembers the finished block; 0: there is none
};

/// Tokens a pass must decide on average for a block of `length` to be written as fast as one token after another:
/// length * refine / (length * write - keep). Nothing where remembering alone takes as long as writing.
[[nodiscard]] std::optional<double> break_even(const BlockCost& cost, std::size_t length);

/// Tokens a second of block decoding that decides `tokens_per_pass` tokens in a pass; times in milliseconds.
[[nodiscard]] double block_rate(const BlockCost& cost, std::size_t length, double tokens_per_pass);

}  // namespace plm
