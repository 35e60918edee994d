// esc: early-stopping self-consistency: votes until all of a window agree. Tested by tests/search/test_methods.cpp.
#include "search/method.h"

namespace plm {
namespace {

class EarlyStopping : public SearchMethod {
 public:
  explicit EarlyStopping(std::size_t window) : window_(window) {}
  [[nodiscard]] std::optional<std::size_t> enough(std::span<const SearchCandidate> whole, std::size_t,
                                                  std::optional<double>) const override {
    return decided_by_window(ballots_of(whole), window_);
  }
  [[nodiscard]] Decision decide(std::span<const SearchCandidate> candidates) const override {
    return decide_by_votes(candidates, false);
  }

 private:
  std::size_t window_;
};

constexpr Parameter kParameters[] = {
    {.name = "vote_window",
     .summary = "esc ends when so many candidates in a row agree",
     .type = ParameterType::integer,
     .standard = std::int64_t{5},
     .min = 1,
     .max = 4096,
     .unit = "candidates"},
};

}  // namespace

extern const SearchMethodDefinition method_esc;
constinit const SearchMethodDefinition method_esc = {
    .head = {.name = "esc",
             .summary = "votes until all of a window agree",
             .source = "early-stopping self-consistency, ICLR 2024",
             .parameters = kParameters},
    .needs_answers = true,
    .create = [](const Settings& settings) -> Result<std::unique_ptr<SearchMethod>> {
      return std::make_unique<EarlyStopping>(static_cast<std::size_t>(settings.integer("vote_window")));
    },
};

}  // namespace plm
