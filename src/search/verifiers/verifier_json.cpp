// json: the text, or what stands in its first code fence, is one JSON value. Tested by tests/search/test_verifiers.cpp.
#include "base/json.h"
#include "search/code_fence.h"
#include "search/verifier.h"

namespace plm {
namespace {

class WellFormedJson : public Verifier {
 public:
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    const auto parsed = parse_json(code_of(candidate.text), "answer");
    return parsed.has_value() ? yes_or_no(true) : yes_or_no(false, parsed.error().message);
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }
};

}  // namespace

extern const VerifierDefinition verifier_json;
constinit const VerifierDefinition verifier_json = {
    .head = {.name = "json",
             .summary = "the text, or its first code fence, is one JSON value",
             .source = "datasheet 40, verifiers: formats"},
    .argument = {},
    .create = [](std::string_view) -> Result<std::unique_ptr<Verifier>> { return std::make_unique<WellFormedJson>(); },
};

}  // namespace plm
