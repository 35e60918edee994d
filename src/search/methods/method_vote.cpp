// vote: the answer that most candidates give. Ends when no further ones could change it.
// Tested by tests/search/test_methods.cpp.
#include "search/method.h"

namespace plm {
namespace {

class Vote : public SearchMethod {
 public:
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate> whole, std::size_t all,
                                                  std::optional<double>) const override {
    return decided_by_margin(ballots_of(whole), all);
  }
  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    return decide_by_votes(candidates, false);
  }
};

}  // namespace

extern const SearchMethodDefinition method_vote;
constinit const SearchMethodDefinition method_vote = {
    .head = {.name = "vote",
             .summary = "the answer that most candidates give",
             .source = "self-consistency, arXiv 2203.11171; datasheet 39"},
    .needs_answers = true,
    .create = [](const Settings&) -> Result<std::unique_ptr<SearchMethod>> { return std::make_unique<Vote>(); },
};

}  // namespace plm
