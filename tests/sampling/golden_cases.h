// The golden sampler cases of tests/golden/sampling (llama.cpp's answers): inputs, samplers in order, what must be
// left. Tolerances are those that came with the data: probabilities 2e-6, logits 2e-5 relative; `tie_at_cut` frees the
// ids.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "sampling/candidates.h"
#include "sampling/chain.h"

namespace plm {

/// The cases of a file whose samplers are all registered.
std::vector<Json> golden_cases(const std::string& file);

/// A logit vector of inputs.json, generated where the file gives only a recipe, and then checked by its hash.
const std::vector<float>& golden_input(const std::string& name);

/// One sampler of a case and the tokens it looks back on.
struct GoldenSampler {
  std::unique_ptr<const Sampler> sampler;
  std::vector<std::int32_t> history;
};
/// The samplers of a case, ready to apply.
std::vector<GoldenSampler> golden_samplers(const Json& test_case);
void apply_golden(const std::vector<GoldenSampler>& samplers, Candidates& candidates);
/// A chain of the samplers of a case, with llama.cpp's random numbers.
Chain golden_chain(const Json& test_case);
/// Its next token, selected and accepted; a step may name an input of its own.
Selection select_golden(Chain& chain, const Json& test_case, const Json& step = {});
/// Expects that token, or one of equal logit: llama.cpp leaves the order of those open.
void expect_choice(const Selection& selection, int id, const Json& test_case, const Json& step = {});
/// The settings of one sampler of a case, brought into our ranges.
Settings golden_settings(const Json& golden);
/// A file as it is.
Json read_golden(const std::string& file);

/// What is not masked, in canonical order.
std::vector<Candidate> in_canonical_order(const Candidates& candidates);

/// Runs every single-step case of a file, `count` of them, and compares what is left. `differing` names the cases in
/// which we mean to differ; the caller says why and tests what we do.
void expect_golden(const std::string& file, std::size_t count, const std::set<std::string>& differing = {});
/// Runs every case of a file that accepts token after token, `count` of them, and compares the logits.
void expect_golden_steps(const std::string& file, std::size_t count);

/// A chain from "name=value" settings; fails the test when they are refused.
Chain chain_of(const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace plm
