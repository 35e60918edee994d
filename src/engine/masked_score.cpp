#include "engine/masked_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "base/portable_math.h"

namespace plm {
namespace {

constexpr std::size_t kLogitBytes = 64U << 20;  // of the hidden tokens of a pass; more hidden ones take more passes

// Tokens without the one that the network expects behind a text, which is shown there and not scored.
std::vector<TokenId> without_closing(const DiffusionTraits& traits, std::span<const TokenId> tokens) {
  const bool has_one = traits.closing_token >= 0 && !tokens.empty() && tokens.back() == traits.closing_token;
  return {tokens.begin(), tokens.end() - (has_one ? 1 : 0)};
}

// A text on a session, whose tokens are hidden a few at a time.
class HiddenText {
 public:
  HiddenText(Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text)
      : session_(engine.open_session()),
        traits_(*engine.diffusion()),
        rows_at_once_(std::max<std::size_t>(kLogitBytes / sizeof(float) / engine.vocabulary().size(), 1)) {
    tokens_ = without_closing(traits_, given);
    given_ = tokens_.size();
    const std::vector<TokenId> scored = without_closing(traits_, text);
    tokens_.insert(tokens_.end(), scored.begin(), scored.end());
  }

  struct Block {
    std::size_t begin, end;   // what a pass sees besides the remembered state
    std::size_t scored_from;  // of those
    std::size_t hidden_from;  // the first of those that a row of the block speaks for
    [[nodiscard]] bool is_spoken_for() const { return hidden_from > scored_from; }
    [[nodiscard]] std::size_t length() const { return end - hidden_from; }
  };
  // What is scored together.
  [[nodiscard]] std::vector<Block> blocks() const {
    if (given_ == tokens_.size()) return {};
    if (traits_.attention == DiffusionAttention::full) return {{0, tokens_.size(), given_, given_}};
    std::vector<Block> blocks;
    const std::size_t size = traits_.block_length > 0 ? traits_.block_length : tokens_.size();
    const bool counts_from_start = traits_.attention == DiffusionAttention::block_causal;
    for (std::size_t at = counts_from_start ? given_ / size * size : given_; at < tokens_.size(); at += size) {
      Block& block = blocks.emplace_back(Block{at, std::min(at + size, tokens_.size()), std::max(at, given_), 0});
      // Nothing speaks for the first token of all.
      if (traits_.shifts_logits && block.scored_from == 0) block.scored_from = 1;
      block.hidden_from = block.scored_from + (traits_.shifts_logits && block.scored_from == at ? 1 : 0);
    }
    std::erase_if(blocks, [](const Block& block) { return block.scored_from == block.end; });
    return blocks;
  }

  // Remembers what is before the block. The log-probability of its first token, where that is spoken for from there.
  Task<Result<double>> reach(Block block) {
    double first = 0;
    const bool is_causal = traits_.attention == DiffusionAttention::causal_context;
    while (session_->state_length() < block.begin) {
      const std::size_t from = session_->state_length();
      const std::size_t count = is_causal ? block.begin - from : std::min(traits_.block_length, block.begin - from);
      std::vector<Yield> yields;
      if (block.is_spoken_for() && from + count == block.begin) {
        yields.push_back(
            {.row = static_cast<std::uint32_t>(count - 1), .kind = YieldKind::logits, .without = traits_.mask_token});
      }
      const PassRequest request{.tokens = std::span(tokens_).subspan(from, count),
                                .sight = is_causal ? Sight::causal : Sight::bidirectional,
                                .yields = yields};
      const Result<PassAnswer> answer = co_await session_->pass(request);
      if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
      if (yields.empty()) continue;
      const Result<double> read = log_probability(*answer, 0, block.begin);
      if (!read.has_value()) co_return tl::unexpected<Error>(read.error());
      first = *read;
    }
    co_return first;
  }

  // Log-probabilities of the tokens at `hidden` positions of the block, ascending, given all that is not hidden.
  Task<Result<std::vector<double>>> reveal(Block block, std::vector<std::size_t> hidden) {
    std::vector<TokenId> shown(tokens_.begin() + static_cast<std::ptrdiff_t>(block.begin),
                               tokens_.begin() + static_cast<std::ptrdiff_t>(block.end));
    for (const std::size_t at : hidden) shown[at - block.begin] = traits_.mask_token;
    if (traits_.closing_token >= 0) shown.push_back(traits_.closing_token);
    std::vector<double> found;
    for (std::size_t first = 0; first < hidden.size(); first += rows_at_once_) {
      const auto part = std::span(hidden).subspan(first, std::min(rows_at_once_, hidden.size() - first));
      std::vector<Yield> yields;
      for (const std::size_t at : part) {
        const auto row = static_cast<std::uint32_t>(speaker(at, block));
        if (yields.empty() || yields.back().row != row) {
          yields.push_back({.row = row, .kind = YieldKind::logits, .without = traits_.mask_token});
        }
      }
      const PassRequest request{
          .tokens = shown, .state = StateUse::scratch, .sight = Sight::bidirectional, .yields = yields};
      const Result<PassAnswer> answer = co_await session_->pass(request);
      if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
      ++passes_;
      if (on_pass) on_pass(passes_);
      std::size_t yield = 0;
      for (const std::size_t at : part) {
        while (yields[yield].row != speaker(at, block)) ++yield;
        const Result<double> read = log_probability(*answer, yield, at);
        if (!read.has_value()) co_return tl::unexpected<Error>(read.error());
        found.push_back(*read);
      }
    }
    co_return found;
  }

  std::function<void(std::size_t passes)> on_pass;

  [[nodiscard]] TokenId token(std::size_t at) const { return tokens_[at]; }
  [[nodiscard]] std::size_t passes() const { return passes_; }

 private:
  // Of the token at a position.
  [[nodiscard]] Result<double> log_probability(const PassAnswer& answer, std::size_t yield, std::size_t at) const {
    if (answer.statistics[yield].bad != 0) {
      return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file", at);
    }
    const float logit = answer.results[yield].values[static_cast<std::size_t>(tokens_[at])];
    return double{logit} - answer.statistics[yield].log_sum_exp;
  }
  // The row that speaks for a position.
  [[nodiscard]] std::size_t speaker(std::size_t at, const Block& block) const {
    const std::size_t row = at - block.begin;
    return traits_.shifts_logits && row > 0 ? row - 1 : row;
  }

  std::unique_ptr<EngineSession> session_;
  const DiffusionTraits& traits_;
  std::size_t rows_at_once_;
  std::vector<TokenId> tokens_;
  std::size_t given_ = 0;  // of those
  std::size_t passes_ = 0;
};

// Which positions of the block a draw hides. Draws 2k and 2k + 1 take their number of positions from the same stretch
// of the numbers 1 to L, the k-th of `pairs`.
std::vector<std::size_t> hidden_by(std::size_t draw, std::size_t pairs, const HiddenText::Block& block,
                                   std::uint64_t seed) {
  DrawPlace place{.seed = seed,
                  .cell = static_cast<std::uint32_t>(block.hidden_from),
                  .draw = static_cast<std::uint32_t>(draw),
                  .purpose = Purpose::gate};
  const double share = (static_cast<double>(draw / 2) + uniform(place)) / static_cast<double>(pairs);
  const auto count = static_cast<std::size_t>(share * static_cast<double>(block.length()));
  place.purpose = Purpose::position;
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t at = block.hidden_from; at < block.end; ++at) {
    place.cell = static_cast<std::uint32_t>(at);
    ranked.emplace_back(uniform(place), at);
  }
  std::ranges::sort(ranked);
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < std::min(count + 1, ranked.size()); ++i) hidden.push_back(ranked[i].second);
  std::ranges::sort(hidden);
  return hidden;
}

struct BlockBound {
  double mean = 0, variance = 0;  // the variance of the mean
};

Task<Result<BlockBound>> bound_of(HiddenText& text, HiddenText::Block block, BoundOptions options) {
  BlockBound bound;
  if (block.length() == 0) co_return bound;
  // One token is hidden in one way only. Else how the two draws of a pair differ tells the error.
  const std::size_t pairs = block.length() == 1 ? 1 : std::max<std::size_t>((options.draws + 1) / 2, 1);
  double first_of_pair = 0;
  for (std::size_t draw = 0; draw < 2 * pairs; ++draw) {
    const std::vector<std::size_t> hidden = hidden_by(draw, pairs, block, options.seed);
    const Task<Result<std::vector<double>>> revealing = text.reveal(block, hidden);
    const Result<std::vector<double>> found = co_await revealing;
    if (!found.has_value()) co_return tl::unexpected<Error>(found.error());
    const double value = std::accumulate(found->begin(), found->end(), 0.0) * static_cast<double>(block.length()) /
                         static_cast<double>(hidden.size());
    if (block.length() == 1) co_return BlockBound{value, 0};
    bound.mean += value / static_cast<double>(2 * pairs);
    if (draw % 2 == 0) first_of_pair = value;
    const double difference = draw % 2 == 0 ? 0 : value - first_of_pair;
    bound.variance += difference * difference / static_cast<double>(4 * pairs * pairs);
  }
  co_return bound;
}

Task<Result<BoundEstimate>> run_bound(HiddenText& text, BoundOptions options) {
  BoundEstimate estimate;
  double variance = 0;
  const std::vector<HiddenText::Block> blocks = text.blocks();
  for (const HiddenText::Block block : blocks) {
    const Task<Result<double>> reaching = text.reach(block);
    const Result<double> reached = co_await reaching;
    if (!reached.has_value()) co_return tl::unexpected<Error>(reached.error());
    const Task<Result<BlockBound>> bounding = bound_of(text, block, options);
    const Result<BlockBound> bound = co_await bounding;
    if (!bound.has_value()) co_return tl::unexpected<Error>(bound.error());
    estimate.log_probability += *reached + bound->mean;
    estimate.tokens += block.end - block.scored_from;
    variance += bound->variance;
  }
  estimate.standard_error = std::sqrt(variance);
  estimate.passes = text.passes();
  co_return estimate;
}

Task<Result<Score>> run_pseudo(HiddenText& text, std::function<void(const ScoredPosition&)> on_position) {
  Score score;
  const std::vector<HiddenText::Block> blocks = text.blocks();
  for (const HiddenText::Block block : blocks) {
    const Task<Result<double>> reaching = text.reach(block);
    const Result<double> reached = co_await reaching;
    if (!reached.has_value()) co_return tl::unexpected<Error>(reached.error());
    for (std::size_t at = block.scored_from; at < block.end; ++at) {
      std::vector<std::size_t> places;
      if (at >= block.hidden_from) places.push_back(at);
      const Task<Result<std::vector<double>>> revealing = text.reveal(block, places);
      Result<std::vector<double>> found = co_await revealing;
      if (!found.has_value()) co_return tl::unexpected<Error>(found.error());
      if (found->empty()) found->push_back(*reached);
      score.log_probability_sum += found->front();
      ++score.tokens;
      on_position({.id = text.token(at), .log_probability = found->front(), .top = {}});
    }
  }
  co_return score;
}

Result<void> check(const Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text) {
  if (!engine.diffusion().has_value()) {
    return fail(ErrorKind::usage, "this model writes one token after another: its texts have probabilities, no bound");
  }
  const DiffusionTraits& traits = *engine.diffusion();
  if (traits.noise != DiffusionNoise::mask) {
    return fail(ErrorKind::usage, "this model refines noise; its texts have no bound that masks could estimate");
  }
  std::vector<TokenId> all = without_closing(traits, given);
  const std::vector<TokenId> scored = without_closing(traits, text);
  all.insert(all.end(), scored.begin(), scored.end());
  if (traits.closing_token >= 0) all.push_back(traits.closing_token);
  return engine.check_prompt(all);
}

template <typename T>
Result<T> finish(Engine& engine, Task<Result<T>> task, const std::function<bool()>& interrupted) {
  task.start();
  PLM_TRY(engine.run(interrupted));
  if (!task.done()) return fail(ErrorKind::interrupted, "scoring: interrupted");
  return task.take();
}

}  // namespace

Result<BoundEstimate> score_bound(Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text,
                                  const BoundOptions& options, const std::function<void(double)>& on_part,
                                  const std::function<bool()>& interrupted) {
  PLM_TRY(check(engine, given, text));
  HiddenText hidden(engine, given, text);
  const auto expected = static_cast<double>(std::max<std::size_t>(hidden.blocks().size() * options.draws, 1));
  hidden.on_pass = [&](std::size_t passes) {
    if (on_part) on_part(std::min(static_cast<double>(passes) / expected, 1.0));
  };
  return finish(engine, run_bound(hidden, options), interrupted);
}

Result<Score> score_pseudo(Engine& engine, std::span<const TokenId> given, std::span<const TokenId> text,
                           const std::function<void(const ScoredPosition&)>& on_position,
                           const std::function<bool()>& interrupted) {
  PLM_TRY(check(engine, given, text));
  HiddenText hidden(engine, given, text);
  return finish(engine, run_pseudo(hidden, on_position), interrupted);
}

}  // namespace plm
