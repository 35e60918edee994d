// What is known of one text that a model wrote: its tokens, and of each step what the model thought of it. Read from a
// trace (`plm run --trace`, one JSON object a line), from an object with the fields below, from a list of such objects,
// or from plain text, whose words then stand for tokens.
//
// Fields of an object, all but the first or the second optional: tokens, text, prompt_tokens, stop ("eos", "limit",
// "stop"), logprobs (of each token, before any sampler), mean_logprob_raw, displacement (share of steps that were not
// the model's first choice), ranks, entropies, step_ms, expected_step_ms, reply_format ("json"), states and mask (of a
// page, after each pass), passes, end_token.
// Tested by tests/lab/test_run_record.cpp, tests/fuzz/fuzz_run_record.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_forward.h"
#include "lab/page_history.h"

namespace plm {

struct RunRecord {
  std::string name;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> prompt;
  std::string text;
  std::string stop;                       ///< why it ended; empty: unknown
  std::vector<double> log_probabilities;  ///< of each token, before any sampler; empty: unknown
  std::vector<std::size_t> ranks;         ///< likewise; 1: the model's first choice
  std::vector<double> entropies;          ///< of what the model thought, nats
  std::vector<double> chain_entropies;    ///< of what was drawn from
  std::vector<double> chain_supports;     ///< tokens that could be drawn
  std::vector<double> step_ms;
  std::optional<double> expected_step_ms;
  std::optional<double> stated_mean_log_probability;  ///< where single ones are not known
  std::optional<double> stated_displacement;
  std::string reply_format;  ///< that was asked for: "json"; empty: none
  PageHistory page;          ///< no states: it was written token by token
  std::optional<std::size_t> passes;
  std::optional<std::int32_t> end_token;

  /// Mean log-probability of the tokens, before any sampler.
  [[nodiscard]] std::optional<double> mean_log_probability() const;
  /// Share of steps whose token was not the model's first choice.
  [[nodiscard]] std::optional<double> displacement() const;
};

struct RecordLimits {
  std::size_t tokens = 1U << 18;  ///< of one record
  std::size_t records = 1U << 16;
};

/// The records of a file. Errors (bad_input) name the file, the record and the field.
[[nodiscard]] Result<std::vector<RunRecord>> read_run_records(std::string_view file, const std::string& name,
                                                              const RecordLimits& limits = {});

}  // namespace plm
