// probability: that of the token proposed.
// Tested by tests/decode/test_golden_steps.cpp.
#include "decode/confidence.h"

namespace plm {

extern const ConfidenceDefinition confidence_probability;
constinit const ConfidenceDefinition confidence_probability = {
    .head = {.name = "probability",
             .aliases = "prob, low_confidence",
             .summary = "probability of the token proposed",
             .source = "MaskGIT, arXiv 2202.04200; LLaDA, arXiv 2502.09992"},
    .of = [](const DistributionShape& shape) { return shape.proposed; },
};

}  // namespace plm
