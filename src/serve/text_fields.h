// The fields that requests for text have in common, whatever the dialect: prompt, length, stops, seed,
// log-probabilities, banned texts, guidance, how the answer comes; and what cannot be asked for yet. Tested by
// tests/serve/test_text_fields.cpp and, dialect by dialect, tests/serve/dialects/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/field.h"
#include "serve/served_model.h"
#include "serve/text_plan.h"

namespace plm {

struct TextLimits {
  std::size_t prompts = 1024;            ///< of one request
  std::size_t texts = 1024;              ///< of one request: prompts times texts for each
  std::size_t log_probabilities = 1000;  ///< likeliest tokens beside each
  std::size_t stops = 256;
};
inline constexpr TextLimits kTextLimits;

/// Length, stops, seed and so on.
[[nodiscard]] std::span<const Field> text_fields();
/// What every request with a body may ask about its answer.
[[nodiscard]] std::span<const Field> report_fields();
/// Fields that clients of many servers send and that have no effect here.
[[nodiscard]] std::span<const Field> foreign_fields();

/// What a dialect says where the request is silent.
struct TextStandards {
  std::string_view profile = "openai";
  std::int64_t max_tokens = -1;  ///< -1: as many as the context holds
};

/// Reads all but the prompt into `plan`, with the sampling controls. Errors (usage) begin with the field's name.
Result<void> read_text_fields(const RequestFields& fields, const TextStandards& standards, const ServedModel& model,
                              TextPlan& plan);

/// Sizes, the context and what does not go together; to be called when all else is in. Errors (usage): with both
/// counts, where the prompt does not fit.
Result<void> check_plan(const RequestFields& fields, const ServedModel& model, TextPlan& plan);

}  // namespace plm
