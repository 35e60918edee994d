// deepconf: a vote weighted by confidence among the most confident candidates only, as its scores say (the verifier
// self_certainty is meant). Tested by tests/search/test_methods.cpp.
#include <algorithm>
#include <cmath>

#include "search/method.h"

namespace plm {
namespace {

class ConfidentVote : public SearchMethod {
 public:
  explicit ConfidentVote(double share) : share_(share) {}
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate>, std::size_t,
                                                  std::optional<double>) const override {
    return std::nullopt;
  }

  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    std::vector<SearchCandidate> kept;
    for (const SearchCandidate& each : candidates) {
      if (each.is_whole() && each.verdict.has_value()) kept.push_back(each);
    }
    if (kept.empty()) return {.chosen = std::nullopt, .reason = "no candidate has a score"};
    std::sort(kept.begin(), kept.end(), [](const SearchCandidate& a, const SearchCandidate& b) {
      return a.verdict->score != b.verdict->score ? a.verdict->score > b.verdict->score : a.index < b.index;
    });
    const auto most = static_cast<std::size_t>(std::ceil(share_ * static_cast<double>(kept.size())));
    kept.resize(std::max<std::size_t>(most, 1));
    std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    return decide_by_votes(kept, true);
  }

 private:
  double share_;
};

constexpr Parameter kParameters[] = {
    {.name = "confident_share",
     .summary = "share of the candidates, the most confident, that deepconf lets vote",
     .standard = 0.5,
     .min = 0.01,
     .max = 1},
};

}  // namespace

extern const SearchMethodDefinition method_deepconf;
constinit const SearchMethodDefinition method_deepconf = {
    .head = {.name = "deepconf",
             .summary = "a vote weighted by confidence among the most confident candidates",
             .source = "DeepConf, arXiv 2508.15260",
             .parameters = kParameters},
    .needs_verifier = true,
    .needs_answers = true,
    .create = [](const Settings& settings) -> Result<std::unique_ptr<SearchMethod>> {
      return std::make_unique<ConfidentVote>(settings.real("confident_share"));
    },
};

}  // namespace plm
