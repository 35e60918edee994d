// best_of_n: the candidate with the highest score, the first of equals. Ends when one has the highest score there is.
// Tested by tests/search/test_methods.cpp.
#include "search/method.h"

namespace plm {
namespace {

class BestOfN : public SearchMethod {
 public:
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate> whole, std::size_t,
                                                  std::optional<double> highest) const override {
    for (std::size_t i = 0; i < whole.size() && highest.has_value(); ++i) {
      if (whole[i].verdict.has_value() && whole[i].verdict->score >= *highest) return i + 1;
    }
    return std::nullopt;
  }

  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    std::vector<std::optional<double>> scores;
    for (const SearchCandidate& each : candidates) {
      scores.push_back(each.verdict.has_value() ? std::optional(each.verdict->score) : std::nullopt);
    }
    const auto best = best_score(scores);
    if (!best.has_value()) return {.chosen = std::nullopt, .reason = "no candidate has a score"};
    const SearchCandidate& chosen = candidates[*best];
    const bool is_rejected = chosen.verdict->accepted == false;
    return {.chosen = chosen.index,
            .reason = fmt::format("the highest score of {}: {:.6g}{}", candidates.size(), chosen.verdict->score,
                                  is_rejected ? ", though the verifier accepts none" : "")};
  }
};

}  // namespace

extern const SearchMethodDefinition method_best_of_n;
constinit const SearchMethodDefinition method_best_of_n = {
    .head = {.name = "best_of_n",
             .summary = "the candidate with the highest score",
             .source = "datasheet 39; Cobbe et al., arXiv 2110.14168"},
    .needs_verifier = true,
    .create = [](const Settings&) -> Result<std::unique_ptr<SearchMethod>> { return std::make_unique<BestOfN>(); },
};

}  // namespace plm
