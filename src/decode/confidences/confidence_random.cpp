// random: the order is drawn, each position having a number of its own.
// Tested by tests/decode/test_golden_steps.cpp.
#include "decode/confidence.h"

namespace plm {

extern const ConfidenceDefinition confidence_random;
constinit const ConfidenceDefinition confidence_random = {
    .head = {.name = "random",
             .aliases = "uniform",
             .summary = "a random number: any order is as good as another",
             .source = "LLaDA, arXiv 2502.09992"},
    .of = [](const DistributionShape& shape) { return shape.uniform; },
};

}  // namespace plm
