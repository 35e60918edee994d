// What a page remembers between passes, and the rows that a pass has therefore: exactly, block after block, or with a
// cache that is not exact. The rest of the class is in page.cpp. Tested by tests/decode/test_page_cache.cpp and
// tests/engine/test_parallel.cpp.
#include <algorithm>
#include <cmath>

#include "decode/page.h"

namespace plm {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kMostRows = 256;  // that are remembered in one pass; more only when a block has more

}  // namespace

// Whole blocks go in, several in a pass; the last of them with the first pass over what follows, which costs no pass of
// its own and, by the numerics contract, changes no bit.
Task<Result<void>> Page::reach(const PlannedBlock& block) {
  pasts_.clear();
  if (policy_.traits.attention == DiffusionAttention::full) co_return Result<void>{};
  const bool is_causal = policy_.traits.attention == DiffusionAttention::causal_context;
  const bool is_asked = is_spoken_for() && job_.canvas.at(block.start).status == CellStatus::open;
  // The row that speaks for the block may be remembered already; what it said is not.
  if (is_asked && is_causal && session_.state_length() >= block.start) session_.truncate_state(block.start - 1);
  const std::size_t most =
      is_causal ? kMostRows : std::max<std::size_t>(kMostRows / policy_.block_length, 1) * policy_.block_length;
  const std::vector<TokenId> tokens = job_.canvas.tokens();
  while (session_.state_length() < block.start) {
    const std::size_t from = session_.state_length(), left = block.start - from;
    if (!is_asked && left <= most) break;
    const std::size_t count = is_causal ? left : std::min(left, most);
    std::vector<Yield> yields;
    if (is_asked && count == left) {
      yields.push_back(
          {.row = static_cast<std::uint32_t>(count - 1), .kind = yield_kind(), .without = policy_.traits.mask_token});
    }
    if (!is_causal) see_blocks(from, count, count);
    const PassRequest request{.tokens = std::span(tokens).subspan(from, count),
                              .state = StateUse::append,
                              .sight = is_causal ? Sight::causal : Sight::by_bits,
                              .sight_bits = is_causal ? std::span<const std::uint64_t>() : sight_bits_,
                              .yields = yields};
    const Task<Result<PassAnswer>> running = run(request);
    const Result<PassAnswer> answer = co_await running;
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    if (yields.empty()) continue;
    const Result<std::vector<Proposal>> first = read_proposals(*answer, std::span(&block.start, 1));
    if (!first.has_value()) co_return tl::unexpected<Error>(first.error());
    commit(block.start, first->front(), "shift_logits");
  }
  co_return Result<void>{};
}

// Bits of a pass whose first `ahead` rows, from the canvas position `from` on, see what came before them as the model
// does, and whose other rows see all.
void Page::see_blocks(std::size_t from, std::size_t ahead, std::size_t rows) {
  const std::size_t words = (rows + kWordBits - 1) / kWordBits;
  sight_bits_.assign(rows * words, 0);
  const bool is_causal = policy_.traits.attention == DiffusionAttention::causal_context;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t block_end =
        is_causal ? row + 1 : (from + row) / policy_.block_length * policy_.block_length + policy_.block_length - from;
    const std::size_t seen = row < ahead ? std::min(block_end, ahead) : rows;
    for (std::size_t other = 0; other < seen; ++other) {
      sight_bits_[row * words + other / kWordBits] |= std::uint64_t{1} << (other % kWordBits);
    }
  }
}

void Page::ask_for(std::span<const std::size_t> positions, std::size_t first_row, YieldKind kind) {
  yields_.clear();
  for (const std::size_t position : positions) {
    const std::size_t speaker = policy_.traits.shifts_logits ? position - 1 : position;
    yields_.push_back(
        {.row = static_cast<std::uint32_t>(speaker - first_row), .kind = kind, .without = policy_.traits.mask_token});
  }
}

PassRequest Page::request_for(const PlannedBlock& block, std::span<const std::size_t> positions, Prompt prompt) {
  const bool is_full = policy_.traits.attention == DiffusionAttention::full;
  const std::size_t first = is_full ? 0 : session_.state_length();
  const std::size_t last = is_full ? end() : block.start + block.length;
  tokens_.clear();
  for (std::size_t at = first; at < last; ++at) {
    const bool is_masked = prompt == Prompt::masked && job_.canvas.at(at).status == CellStatus::given;
    tokens_.push_back(is_masked ? policy_.traits.mask_token : token_at(at));
  }
  if (is_full && policy_.traits.closing_token >= 0) tokens_.push_back(policy_.traits.closing_token);
  ask_for(positions, first, yield_kind());
  if (is_full || first == block.start) {
    return {.tokens = tokens_, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields_};
  }
  see_blocks(first, block.start - first, tokens_.size());
  return {.tokens = tokens_,
          .state = StateUse::append,
          .sight = Sight::by_bits,
          .sight_bits = sight_bits_,
          .yields = yields_};
}

Task<Result<std::vector<Proposal>>> Page::propose_cached(const PlannedBlock& block,
                                                         std::span<const std::size_t> positions) {
  const PageCache::Pass plan = cache_->next(job_.canvas.cells(), block);
  if (plan.begins_anew) session_.truncate_state(0);
  const std::size_t stored = session_.state_length() + plan.kept;
  tokens_.clear();
  std::vector<std::uint32_t> row_of(end());
  for (const std::uint32_t at : plan.positions) {
    row_of[at] = static_cast<std::uint32_t>(tokens_.size());
    tokens_.push_back(token_at(at));
  }
  ask_for(positions, 0, plan.is_measured ? YieldKind::logits : yield_kind());
  for (Yield& yield : yields_) yield.row = row_of[yield.row];
  const PassRequest request{.tokens = tokens_,
                            .state = plan.kept > 0 ? StateUse::append : StateUse::scratch,
                            .sight = Sight::bidirectional,
                            .positions = plan.positions,
                            .yields = yields_};
  const Task<Result<PassAnswer>> running = pass(request);
  Result<PassAnswer> answer = co_await running;
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  session_.truncate_state(stored);
  if (plan.is_measured) {
    const Task<Result<void>> measuring = measure_drift(positions, *answer);
    const Result<void> measured = co_await measuring;
    if (!measured.has_value()) co_return tl::unexpected<Error>(measured.error());
  }
  co_return read_proposals(*answer, positions);
}

// Compares with a pass over everything that sees nothing of what is remembered, and leaves it as it is.
Task<Result<void>> Page::measure_drift(std::span<const std::size_t> positions, PassAnswer& cached) {
  const std::vector<TokenId> tokens = job_.canvas.tokens();
  std::vector<std::uint32_t> places(tokens.size());
  for (std::size_t at = 0; at < places.size(); ++at) places[at] = static_cast<std::uint32_t>(at);
  ask_for(positions, 0, YieldKind::logits);
  const PassRequest request{.tokens = tokens,
                            .state = StateUse::scratch,
                            .sight = Sight::bidirectional,
                            .seen_from = session_.state_length(),
                            .positions = places,
                            .yields = yields_};
  const Result<PassAnswer> exact = co_await session_.pass(request);
  if (!exact.has_value()) co_return tl::unexpected<Error>(exact.error());
  double largest = 0;
  std::size_t flips = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::vector<float>& logits = cached.results[i].values;
    const std::vector<float>& wanted = exact->results[i].values;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      const double change = std::abs(double{logits[id]} - double{wanted[id]});
      if (std::isfinite(change)) largest = std::max(largest, change);
    }
    if (cached.statistics[i].argmax != exact->statistics[i].argmax) ++flips;
    // The meter must not change what is made of the pass.
    if (!needs_logits()) logits.clear();
  }
  session_.emit({.kind = EventKind::drifted,
                 .rows = positions.size(),
                 .probability = static_cast<double>(flips) / static_cast<double>(positions.size()),
                 .score = largest});
  co_return Result<void>{};
}

}  // namespace plm
