// numeric: the last number of the text equals this one, compared as numbers and not as they are spelled.
// Tested by tests/search/test_verifiers.cpp.
#include "base/utf8.h"
#include "search/verifier.h"

namespace plm {
namespace {

class Numeric : public Verifier {
 public:
  explicit Numeric(std::string target) : target_(std::move(target)) {}
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    const auto found = answer_of(candidate.text, AnswerForm::number);
    return yes_or_no(found == target_, found.has_value() ? "" : "the text holds no number");
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }
  [[nodiscard]] std::optional<AnswerForm> answer_form() const override { return AnswerForm::number; }

 private:
  std::string target_;
};

}  // namespace

extern const VerifierDefinition verifier_numeric;
constinit const VerifierDefinition verifier_numeric = {
    .head = {.name = "numeric",
             .summary = "the last number of the text equals this one",
             .source = "datasheet 40, verifiers: exact checkers"},
    .argument = "NUMBER",
    .create = [](std::string_view argument) -> Result<std::unique_ptr<Verifier>> {
      auto target = canonical_number(argument);
      if (!target.has_value()) {
        return fail(ErrorKind::usage, "verifier numeric: '{}' is no number; write 42, -3.5 or 1,200",
                    printable(argument, 60));
      }
      return std::make_unique<Numeric>(std::move(*target));
    },
};

}  // namespace plm
