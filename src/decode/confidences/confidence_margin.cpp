// margin: the two largest probabilities' difference, whatever their order in memory.
// Tested by tests/decode/test_golden_steps.cpp.
#include "decode/confidence.h"

namespace plm {

extern const ConfidenceDefinition confidence_margin;
constinit const ConfidenceDefinition confidence_margin = {
    .head = {.name = "margin",
             .aliases = "top_k_margin",
             .summary = "how far the likeliest token is ahead of the second",
             .source = "arXiv 2502.06768"},
    .of = [](const DistributionShape& shape) { return shape.first - shape.second; },
};

}  // namespace plm
