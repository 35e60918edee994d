// self_certainty: how sure the model was of what it wrote: the lowest mean confidence of any stretch of tokens. A
// token's confidence is the mean of -ln p over the likeliest 20 (DeepConf, arXiv 2508.15260); a stretch has up to 64
// tokens, or all of a shorter text. Tested by tests/search/test_verifiers.cpp.
#include <algorithm>
#include <limits>

#include "search/verifier.h"

namespace plm {
namespace {

constexpr std::size_t kLikeliest = 20, kStretch = 64;

class SelfCertainty : public Verifier {
 public:
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    const auto& all = candidate.confidences;
    if (all.empty()) return Verdict{.score = 0, .note = "the text is empty"};
    const std::size_t length = std::min(kStretch, all.size());
    double sum = 0, lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
      sum += all[i] - (i >= length ? all[i - length] : 0);
      if (i + 1 >= length) lowest = std::min(lowest, sum / static_cast<double>(length));
    }
    return Verdict{.score = lowest};
  }
  [[nodiscard]] std::size_t confidence_tokens() const override { return kLikeliest; }
};

}  // namespace

extern const VerifierDefinition verifier_self_certainty;
constinit const VerifierDefinition verifier_self_certainty = {
    .head = {.name = "self_certainty",
             .summary = "how sure the model was: the lowest confidence of any 64 tokens in a row",
             .source = "DeepConf, arXiv 2508.15260; datasheet 40"},
    .argument = {},
    .create = [](std::string_view) -> Result<std::unique_ptr<Verifier>> { return std::make_unique<SelfCertainty>(); },
};

}  // namespace plm
