// choice: the last letter that stands alone in the text is this one. Tested by tests/search/test_verifiers.cpp.
#include "base/utf8.h"
#include "search/verifier.h"

namespace plm {
namespace {

class Choice : public Verifier {
 public:
  explicit Choice(char target) : target_(1, target) {}
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    const auto found = answer_of(candidate.text, AnswerForm::choice);
    return yes_or_no(found == target_, found.has_value() ? "" : "the text chooses no letter");
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }
  [[nodiscard]] std::optional<AnswerForm> answer_form() const override { return AnswerForm::choice; }

 private:
  std::string target_;
};

}  // namespace

extern const VerifierDefinition verifier_choice;
constinit const VerifierDefinition verifier_choice = {
    .head = {.name = "choice",
             .summary = "the letter chosen, A to J, is this one",
             .source = "datasheet 40, verifiers: exact checkers"},
    .argument = "LETTER",
    .create = [](std::string_view argument) -> Result<std::unique_ptr<Verifier>> {
      if (argument.size() != 1 || argument[0] < 'A' || argument[0] > 'J') {
        return fail(ErrorKind::usage, "verifier choice: '{}': expected one letter from A to J",
                    printable(argument, 60));
      }
      return std::make_unique<Choice>(argument[0]);
    },
};

}  // namespace plm
