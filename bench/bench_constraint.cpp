// What a token mask costs on a real vocabulary: bench_constraint MODEL CASES, in thread CPU time, over whole valid
// texts, the first text of a fresh constraint included. Each line of CASES is a JSON object with "language" (gbnf,
// regex, json_schema), "text" and "documents"; bench/peers/constraint.py writes them and runs the peers on the same.
//
// Prints percentiles of compiling, of masks of states that were seen before and of fresh ones, as JSON. What is timed
// here is checked in tests/constraint/.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "constraint/constraint_source.h"
#include "constraint/token_constraint.h"
#include "text/tokenizer.h"

namespace plm {
namespace {

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

nlohmann::json percentiles(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  double sum = 0;
  for (const double value : values) sum += value;
  return {{"n", values.size()}, {"p50", at(0.5)},       {"p95", at(0.95)},
          {"p99", at(0.99)},    {"max", values.back()}, {"mean", sum / static_cast<double>(values.size())}};
}

struct Times {
  std::vector<double> compile_us, mask_us, seen_us, fresh_us;
  int refused = 0, rejected = 0;
};

void run_document(TokenConstraint& constraint, const std::vector<TokenId>& tokens, std::unordered_set<StateId>& seen,
                  Times& times) {
  StateId state = constraint.start();
  for (const TokenId token : tokens) {
    const double begin = cpu_us();
    const auto mask = constraint.mask(state);
    const double took = cpu_us() - begin;
    times.mask_us.push_back(took);
    (seen.insert(state).second ? times.fresh_us : times.seen_us).push_back(took);
    const bool allowed = mask.has_value() && (*mask)->allowed.contains(token);
    const auto next = constraint.advance(state, token);
    if (!allowed || !next.has_value() || *next == StateId::dead) {
      ++times.rejected;
      return;
    }
    state = *next;
  }
}

void run_case(const nlohmann::json& json, const Tokenizer& tokenizer, const std::shared_ptr<const TokenTrie>& trie,
              Times& times) {
  std::vector<std::string> warnings;
  const ConstraintSource source{.language = *find_constraint_language(json["language"].get<std::string>()),
                                .text = json["text"].get<std::string>(),
                                .choices = {}};
  const double begin = cpu_us();
  auto grammar = grammar_of(source, {}, warnings);
  auto constraint = grammar ? TokenConstraint::create(std::move(*grammar), trie)
                            : Result<std::shared_ptr<TokenConstraint>>(tl::unexpected(grammar.error()));
  if (!constraint) {
    ++times.refused;
    return;
  }
  times.compile_us.push_back(cpu_us() - begin);
  std::unordered_set<StateId> seen;
  for (const auto& document : json["documents"]) {
    const auto tokens = tokenizer.encode(document.get<std::string>(), {.add_special = false});
    if (tokens) run_document(**constraint, *tokens, seen, times);
  }
}

int run(const char* model, const char* cases) {
  const auto file = GgufFile::open(model, {.least_tensors = 0});
  if (!file) return std::cerr << file.error().message << "\n", 1;
  const auto tokenizer = Tokenizer::load(*file);
  if (!tokenizer) return std::cerr << tokenizer.error().message << "\n", 1;
  const double begin = cpu_us();
  const auto trie = TokenTrie::of((*tokenizer)->vocabulary());
  const double trie_us = cpu_us() - begin;
  Times times;
  std::ifstream lines(cases);
  for (std::string line; std::getline(lines, line);) run_case(nlohmann::json::parse(line), **tokenizer, trie, times);
  const nlohmann::json result{{"trie_ms", trie_us / 1000},
                              {"compile_us", percentiles(times.compile_us)},
                              {"mask_us", percentiles(times.mask_us)},
                              {"mask_seen_us", percentiles(times.seen_us)},
                              {"mask_fresh_us", percentiles(times.fresh_us)},
                              {"refused", times.refused},
                              {"rejected_documents", times.rejected}};
  std::cout << result.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace plm

int main(int argc, char** argv) {
  if (argc == 3) return plm::run(argv[1], argv[2]);
  std::cerr << "usage: bench_constraint MODEL CASES\n";
  return 2;
}
