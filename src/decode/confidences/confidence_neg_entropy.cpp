// neg_entropy: the sum of p log p, at most 0. (Ranking by entropy itself would take the least certain first.)
// Tested by tests/decode/test_golden_steps.cpp.
#include "decode/confidence.h"

namespace plm {

extern const ConfidenceDefinition confidence_neg_entropy;
constinit const ConfidenceDefinition confidence_neg_entropy = {
    .head = {.name = "neg_entropy",
             .aliases = "entropy",
             .summary = "how narrow the distribution is: its entropy, negated",
             .source = "Dream, arXiv 2508.15487"},
    .of = [](const DistributionShape& shape) { return -shape.entropy; },
};

}  // namespace plm
