// regex: the expression matches somewhere in the text (anchor it with ^ and $ for all of it).
// Tested by tests/search/test_verifiers.cpp.
#include "search/verifier.h"
#include "text/pattern.h"

namespace plm {
namespace {

class Regex : public Verifier {
 public:
  explicit Regex(Pattern pattern) : pattern_(std::move(pattern)) {}
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    PatternSearch search(candidate.text.size());
    const auto found = pattern_.find(candidate.text, 0, search);
    if (!found.has_value()) return yes_or_no(false, found.error().message);
    return yes_or_no(found->has_value());
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }

 private:
  Pattern pattern_;
};

}  // namespace

extern const VerifierDefinition verifier_regex;
constinit const VerifierDefinition verifier_regex = {
    .head = {.name = "regex",
             .summary = "the expression matches in the text",
             .source = "datasheet 40, verifiers: formats"},
    .argument = "EXPRESSION",
    .create = [](std::string_view argument) -> Result<std::unique_ptr<Verifier>> {
      auto pattern = Pattern::compile(argument);
      if (!pattern.has_value()) {
        return tl::unexpected<Error>(Error{ErrorKind::usage, pattern.error().within("verifier regex").message});
      }
      return std::make_unique<Regex>(std::move(*pattern));
    },
};

}  // namespace plm
