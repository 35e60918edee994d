// exact: the answer, as the request reads answers, is this text. Tested by tests/search/test_verifiers.cpp.
#include "search/verifier.h"

namespace plm {
namespace {

class Exact : public Verifier {
 public:
  explicit Exact(std::string target) : target_(std::move(target)) {}
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    return yes_or_no(candidate.answer == target_);
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }

 private:
  std::string target_;
};

}  // namespace

extern const VerifierDefinition verifier_exact;
constinit const VerifierDefinition verifier_exact = {
    .head = {.name = "exact",
             .summary = "the answer is this text",
             .source = "datasheet 40, verifiers: exact checkers"},
    .argument = "TEXT",
    .create = [](std::string_view argument) -> Result<std::unique_ptr<Verifier>> {
      return std::make_unique<Exact>(std::string(argument));
    },
};

}  // namespace plm
