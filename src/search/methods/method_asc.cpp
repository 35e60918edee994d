// asc: adaptive consistency: votes until the leading answer's share is greater than the second's with the probability
// asked for. Tested by tests/search/test_methods.cpp.
#include "search/method.h"

namespace plm {
namespace {

class AdaptiveConsistency : public SearchMethod {
 public:
  explicit AdaptiveConsistency(double threshold) : threshold_(threshold) {}
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate> whole, std::size_t,
                                                  std::optional<double>) const override {
    return decided_by_lead(ballots_of(whole), threshold_);
  }
  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    return decide_by_votes(candidates, false);
  }

 private:
  double threshold_;
};

constexpr Parameter kParameters[] = {
    {.name = "lead_probability",
     .summary = "asc ends when the leading answer leads with this probability",
     .standard = 0.95,
     .min = 0.5,
     .max = 1},
};

}  // namespace

extern const SearchMethodDefinition method_asc;
constinit const SearchMethodDefinition method_asc = {
    .head = {.name = "asc",
             .summary = "votes until the leading answer leads with a given probability",
             .source = "adaptive consistency, arXiv 2305.11860",
             .parameters = kParameters},
    .needs_answers = true,
    .create = [](const Settings& settings) -> Result<std::unique_ptr<SearchMethod>> {
      return std::make_unique<AdaptiveConsistency>(settings.real("lead_probability"));
    },
};

}  // namespace plm
