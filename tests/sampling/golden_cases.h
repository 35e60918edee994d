// The golden sampler cases of tests/golden/sampling (llama.cpp's answers): inputs, samplers in order, what must be
// left. Tolerances are those that came with the data: probabilities 2e-6, logits 2e-5 relative; `tie_at_cut` frees the
// ids.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "sampling/candidates.h"
#include "sampling/chain.h"

namespace plm {

/// The cases of a file whose samplers are all registered.
std::vector<Json> golden_cases(const std::string& file);

/// A logit vector of inputs.json, generated where the file gives only a recipe, and then checked by its hash.
std::vector<float> golden_input(const std::string& name);

/// The samplers of a case, ready to apply.
std::vector<std::unique_ptr<Sampler>> golden_samplers(const Json& test_case);

/// What is not masked, in canonical order.
std::vector<Candidate> in_canonical_order(const Candidates& candidates);

/// Runs every case of a file, `count` of them, and compares what is left.
void expect_golden(const std::string& file, std::size_t count);

/// A chain from "name=value" settings; fails the test when they are refused.
Chain chain_of(const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace plm
