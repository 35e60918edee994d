// Uniform diffusion: a canvas of random tokens is refined as a whole. Each pass draws a token for every position, keeps
// those whose entropies add up to little (entropy bound, arXiv 2505.24857) and puts new noise at all others; what was
// kept may go again. The network is told what the pass before thought of each position (self-conditioning). When the
// likeliest tokens stay the same and are certain, they are the text of the canvas; it is then read once more, causally,
// and remembered for the next. Source: DiffusionGemma, as transformers 5.24 decodes it; datasheet part XIII.
//
// It ends: passes over a canvas are counted. Tested by tests/decode/test_decoder_uniform.cpp.
#include <algorithm>
#include <deque>
#include <numeric>

#include "base/portable_math.h"
#include "decode/page.h"

namespace plm {
namespace {

struct Rule {
  std::size_t passes, stability;
  double first_temperature, last_temperature, entropy_bound, confidence;

  explicit Rule(const Settings& settings)
      : passes(static_cast<std::size_t>(settings.integer("refine_passes"))),
        stability(static_cast<std::size_t>(settings.integer("refine_stability"))),
        first_temperature(settings.real("refine_temperature")),
        last_temperature(settings.real("refine_temperature_last")),
        entropy_bound(settings.real("refine_entropy")),
        confidence(settings.real("refine_confidence")) {}

  // Falls with the passes that are left.
  [[nodiscard]] double temperature(std::size_t left) const {
    const double share = static_cast<double>(left) / static_cast<double>(passes);
    return last_temperature + (first_temperature - last_temperature) * share;
  }
};

// Whether a position is accepted, by the entropies of all: the surest ones, as long as those before add up to no more
// than the bound.
std::vector<bool> accepted_by(std::span<const Proposal> drawn, double bound) {
  std::vector<std::size_t> places(drawn.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::sort(places, [&](std::size_t a, std::size_t b) {
    return drawn[a].entropy != drawn[b].entropy ? drawn[a].entropy < drawn[b].entropy : a < b;
  });
  std::vector<bool> is_accepted(drawn.size());
  double sum = 0;
  for (const std::size_t place : places) {
    if (sum > bound) break;
    is_accepted[place] = true;
    sum += drawn[place].entropy;
  }
  return is_accepted;
}

// One canvas under way.
class Refinement {
 public:
  Refinement(Session& session, DecodeJob& job, Page& page, const PlannedBlock& block, const Rule& rule)
      : session_(session), job_(job), page_(page), block_(block), rule_(rule), soft_(block.length) {
    for (std::size_t at = block.start; at < block.start + block.length; ++at) {
      if (job.canvas.at(at).status != CellStatus::given) positions_.push_back(at);
    }
  }

  // One pass; whether the canvas has come to rest.
  Task<Result<bool>> refine(std::size_t left) {
    std::vector<TokenId> tokens;
    std::vector<Yield> yields;
    for (std::size_t at = block_.start; at < block_.start + block_.length; ++at) tokens.push_back(page_.token_at(at));
    for (const std::size_t at : positions_) {
      yields.push_back({.row = static_cast<std::uint32_t>(at - block_.start), .kind = YieldKind::logits});
    }
    const std::vector<std::int32_t> types(tokens.size(), 1);
    const std::vector<std::span<const float>> soft(soft_.begin(), soft_.end());
    const PassRequest request{.tokens = tokens,
                              .state = StateUse::scratch,
                              .sight = Sight::bidirectional,
                              .types = types,
                              .soft_tokens = soft,
                              .yields = yields};
    const Task<Result<PassAnswer>> running = page_.pass(request);
    const Result<PassAnswer> answer = co_await running;
    if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
    if (const Result<void> drawn = draw(*answer, rule_.temperature(left)); !drawn.has_value()) {
      co_return tl::unexpected<Error>(drawn.error());
    }
    take(drawn_, accepted_by(drawn_, rule_.entropy_bound), "entropy_bound");
    co_return has_come_to_rest();
  }

  // The likeliest tokens of the last pass are the text.
  void settle() { take(likeliest_, std::vector<bool>(likeliest_.size(), true), "likeliest"); }

 private:
  Result<void> draw(const PassAnswer& answer, double temperature) {
    drawn_.clear(), likeliest_.clear();
    const ProposalRule rule{.confidence = job_.parallel->rule.confidence,
                            .temperature = temperature,
                            .score_tempered = true,
                            .suppressed = job_.parallel->rule.suppressed};
    Proposer proposer(rule);
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const std::size_t at = positions_[i];
      if (answer.statistics[i].bad != 0) {
        return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                    at);
      }
      const Proposal best = proposer(answer.results[i].values, {}, {}, page_.uniform_at(at, Purpose::gate));
      if (best.token == kNoToken) {
        return fail(ErrorKind::failed,
                    "position {}: the network leaves no token that may stand there; check the model file", at);
      }
      std::vector<float>& soft = soft_[at - block_.start];
      soft.resize(answer.results[i].values.size());
      drawn_.push_back(best);
      const double wanted = page_.uniform_at(at, Purpose::position);
      double sum = 0;
      bool is_drawn = false;
      for (std::size_t id = 0; id < soft.size(); ++id) {
        const double probability = exp_f64(proposer.log_probabilities()[id]);
        soft[id] = static_cast<float>(probability);
        sum += probability;
        if (is_drawn || sum < wanted) continue;
        is_drawn = true;  // else rounding has left nothing, and the likeliest stands
        drawn_.back().token = static_cast<TokenId>(id);
        drawn_.back().probability = probability;
      }
      likeliest_.push_back(best);
      tell(at, drawn_.back());
    }
    return {};
  }

  void tell(std::size_t at, const Proposal& proposal) {
    session_.emit({.kind = EventKind::proposed,
                   .cell = job_.canvas.at(at).id,
                   .token = proposal.token,
                   .position = at,
                   .probability = proposal.probability,
                   .score = proposal.score,
                   .entropy = proposal.entropy});
  }

  void take(std::span<const Proposal> proposals, const std::vector<bool>& is_accepted, std::string_view why) {
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const std::size_t at = positions_[i];
      const bool is_open = job_.canvas.at(at).status == CellStatus::open;
      if (!is_accepted[i]) {
        if (is_open) page_.renoise(at);
        if (!is_open) page_.revoke(at, proposals[i].probability, why);
      } else if (is_open) {
        page_.commit(at, proposals[i], why);
      } else if (page_.token_at(at) != proposals[i].token) {
        page_.replace(at, proposals[i], why);
      }
    }
  }

  // The likeliest tokens are those of the passes before, and on average certain.
  bool has_come_to_rest() {
    std::vector<TokenId> tokens;
    double entropy = 0;
    for (const Proposal& proposal : likeliest_) {
      tokens.push_back(proposal.token);
      entropy += proposal.entropy / static_cast<double>(likeliest_.size());
    }
    const bool is_stable = past_.size() == rule_.stability &&
                           std::ranges::all_of(past_, [&](const auto& before) { return before == tokens; });
    past_.push_back(std::move(tokens));
    if (past_.size() > rule_.stability) past_.pop_front();
    return is_stable && entropy < rule_.confidence;
  }

  Session& session_;
  DecodeJob& job_;
  Page& page_;
  const PlannedBlock& block_;
  const Rule& rule_;
  std::vector<std::size_t> positions_;
  std::vector<std::vector<float>> soft_;  // what the pass before thought, by row
  std::vector<Proposal> drawn_, likeliest_;
  std::deque<std::vector<TokenId>> past_;  // likeliest tokens of the last passes
};

// Reads what is before the canvas and not remembered yet.
Task<Result<void>> remember(Session& session, const DecodeJob& job, Page& page, std::size_t until) {
  const std::vector<TokenId> tokens = job.canvas.tokens();
  const std::size_t from = session.state_length();
  if (from == until) co_return Result<void>{};
  const PassRequest request{.tokens = std::span(tokens).subspan(from, until - from)};
  const Task<Result<PassAnswer>> running = page.pass(request);
  const Result<PassAnswer> answer = co_await running;
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  co_return Result<void>{};
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const Rule rule(job.parallel->settings);
  Page page(session, job);
  page.take_noise();
  if (job.parallel->traits.attention != DiffusionAttention::causal_context) {
    co_return fail(ErrorKind::usage,
                   "decoder uniform: needs a model that reads causally and refines a canvas behind that; use the "
                   "decoder diffusion");
  }
  if (job.parallel->finds_length) {
    co_return fail(ErrorKind::usage,
                   "length auto: a text of this model goes on canvas by canvas until it ends; say "
                   "how long it may be");
  }
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  while (const PlannedBlock* next = page.next_block()) {
    const PlannedBlock& block = *next;
    const Task<Result<void>> remembering = remember(session, job, page, block.start);
    const Result<void> remembered = co_await remembering;
    if (!remembered.has_value()) co_return tl::unexpected<Error>(remembered.error());
    Refinement refinement(session, job, page, block, rule);
    for (std::size_t left = rule.passes; left > 0; --left) {
      const Task<Result<bool>> refining = refinement.refine(left);
      const Result<bool> rests = co_await refining;
      if (!rests.has_value()) co_return tl::unexpected<Error>(rests.error());
      if (*rests) break;
    }
    refinement.settle();
    if (page.give_out(block.start + block.length) || page.is_finished()) break;
  }
  co_return page.finish();
}

constexpr Parameter kParameters[] = {
    {
        .name = "refine_passes",
        .summary = "passes over a canvas of noise at most",
        .type = ParameterType::integer,
        .standard = std::int64_t{48},
        .min = 1,
        .max = 1U << 16,
        .unit = "passes",
    },
    {
        .name = "refine_temperature",
        .summary = "temperature at which the first pass over a canvas draws",
        .type = ParameterType::real,
        .standard = 0.8,
        .min = 1e-6,
        .max = 100,
    },
    {
        .name = "refine_temperature_last",
        .summary = "temperature towards which that moves with every pass",
        .type = ParameterType::real,
        .standard = 0.4,
        .min = 1e-6,
        .max = 100,
    },
    {
        .name = "refine_entropy",
        .summary = "positions are kept, the surest first, until their entropies add up to more than this; the others "
                   "get new noise",
        .type = ParameterType::real,
        .standard = 0.1,
        .min = 0,
        .max = 1e6,
        .unit = "nats",
    },
    {
        .name = "refine_stability",
        .summary = "passes for which the likeliest tokens must have been the same for a canvas to be finished",
        .type = ParameterType::integer,
        .standard = std::int64_t{1},
        .min = 0,
        .max = 1U << 16,
        .unit = "passes",
    },
    {
        .name = "refine_confidence",
        .summary = "mean entropy of its positions below which such a canvas is finished",
        .type = ParameterType::real,
        .standard = 0.005,
        .min = 0,
        .max = 1e6,
        .unit = "nats",
    },
};

}  // namespace

extern constinit const DecoderDefinition decoder_uniform = {
    .head = {.name = "uniform",
             .aliases = "refine",
             .summary = "refines a canvas of random tokens as a whole, for models made so",
             .source = "DiffusionGemma; arXiv 2505.24857",
             .parameters = kParameters},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
