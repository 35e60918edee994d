// weighted: the answer whose candidates' scores add up to most. Tested by tests/search/test_methods.cpp.
#include "search/method.h"

namespace plm {
namespace {

class Weighted : public SearchMethod {
 public:
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate>, std::size_t,
                                                  std::optional<double>) const override {
    return std::nullopt;
  }
  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    return decide_by_votes(candidates, true);
  }
};

}  // namespace

extern const SearchMethodDefinition method_weighted;
constinit const SearchMethodDefinition method_weighted = {
    .head = {.name = "weighted",
             .summary = "the answer whose candidates' scores add up to most",
             .source = "Li et al., arXiv 2206.02336; datasheet 39"},
    .needs_verifier = true,
    .needs_answers = true,
    .create = [](const Settings&) -> Result<std::unique_ptr<SearchMethod>> { return std::make_unique<Weighted>(); },
};

}  // namespace plm
