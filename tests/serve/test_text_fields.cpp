#include "serve/text_fields.h"

#include <gtest/gtest.h>

#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"
#include "serve/served_twin.h"

namespace plm {
namespace {

constexpr Field kPromptFields[] = {{.name = "prompt", .type = FieldType::any}};
std::span<const Field> prompt_fields() { return kPromptFields; }
constexpr FieldTable kTables[] = {prompt_fields, text_fields, sampling_only_fields, foreign_fields, report_fields};

Result<TextPlan> read(const Json& body, const TextStandards& standards = {}) {
  PLM_TRY_ASSIGN(const RequestFields fields, RequestFields::read(kTables, body));
  TextPlan plan;
  PLM_TRY(read_text_fields(fields, standards, twin().model(), plan));
  PLM_TRY(read_prompts(fields, "prompt", twin().model(), plan));
  PLM_TRY(check_plan(fields, twin().model(), plan));
  return plan;
}
TextPlan plan_of(const Json& body) {
  auto plan = read(body);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return std::move(plan).value();
}
std::string error_of(const Json& body) {
  const auto plan = read(body);
  return plan.has_value() ? "none" : plan.error().message;
}

TEST(TextFields, PromptsInEveryShape) {
  EXPECT_EQ(plan_of({{"prompt", "A1"}}).prompts.size(), 1U);
  EXPECT_EQ(plan_of({{"prompt", {"A1", "A2"}}}).prompts.size(), 2U);
  EXPECT_EQ(plan_of({{"prompt", {65, 49}}}).prompts.size(), 1U);
  EXPECT_EQ(plan_of({{"prompt", {{65, 49}, {65}}}}).prompts.size(), 2U);
  const TextPlan mixed = plan_of({{"prompt", {256, "A1", 50}}});
  ASSERT_EQ(mixed.prompts.size(), 1U);
  EXPECT_EQ(mixed.prompts[0].tokens, (std::vector<TokenId>{256, 65, 49, 50}));
  EXPECT_EQ(plan_of({{"prompt", "A1"}, {"add_bos_token", false}}).prompts[0].tokens.size(), 2U);
}

TEST(TextFields, LengthsUnderEveryName) {
  for (const char* name : {"max_tokens", "n_predict", "num_predict", "max_new_tokens", "max_length"}) {
    EXPECT_EQ(plan_of({{"prompt", "a"}, {name, 5}}).basis.max_tokens, 5U) << name;
  }
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"max_tokens", -1}}).basis.max_tokens, std::size_t(-1));
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"max_tokens", 5.0}}).basis.max_tokens, 5U);
  const TextPlan clamped = plan_of({{"prompt", "a"}, {"max_tokens", 1'000'000}});
  EXPECT_EQ(clamped.report.clamped, std::vector<std::string>{"max_tokens"});
}

TEST(TextFields, SeedsThatAreNone) {
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"seed", 42}}).basis.seed, 42U);
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"seed", 0}}).basis.seed, 0U);
  for (const Json& seed : {Json(-1), Json(nullptr), Json(4294967295U)}) {
    EXPECT_LT(plan_of({{"prompt", "a"}, {"seed", seed}}).basis.seed, 1'000'000'000U) << seed;
  }
}

TEST(TextFields, StopsAndBannedTexts) {
  const TextPlan plan = plan_of({{"prompt", "a"}, {"stop", {"x", ""}}, {"banned_strings", {"", "no"}}});
  EXPECT_EQ(plan.basis.stops, std::vector<std::string>{"x"});
  EXPECT_EQ(plan.basis.banned_phrases, std::vector<std::string>{"no"});
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"stopping_strings", "y"}}).basis.stops, std::vector<std::string>{"y"});
}

TEST(TextFields, LogProbabilitiesAsEachClientAsks) {
  const auto top = [](const Json& more) -> std::optional<std::size_t> {
    Json body = {{"prompt", "a"}};
    body.update(more);
    const TextPlan plan = plan_of(body);
    if (!plan.basis.log_probabilities.has_value()) return std::nullopt;
    return plan.basis.log_probabilities->top;
  };
  EXPECT_EQ(top(Json::object()), std::nullopt);
  EXPECT_EQ(top({{"logprobs", 3}}), 3U);
  EXPECT_EQ(top({{"logprobs", true}}), 0U);
  EXPECT_EQ(top({{"logprobs", false}}), std::nullopt);
  EXPECT_EQ(top({{"logprobs", true}, {"top_logprobs", 5}}), 5U);
  EXPECT_EQ(top({{"n_probs", 2}, {"logprobs", 9}}), 2U);
  EXPECT_EQ(top({{"n_probs", 0}}), std::nullopt);
}

TEST(TextFields, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(error_of({{"prompt", 5}}).find("prompt: found 5"), 0U);
  EXPECT_EQ(error_of({{"prompt", {1, -2}}}).find("prompt: found -2"), 0U);
  EXPECT_EQ(error_of({{"prompt", {{1}, {288}}}}).find("prompt[1]: found 288"), 0U)
      << error_of({{"prompt", {{1}, {288}}}});
  EXPECT_EQ(error_of(Json::object()).find("prompt: missing"), 0U);
  EXPECT_EQ(error_of({{"prompt", "a"}, {"logprobs", -1}}).find("logprobs: "), 0U);
  EXPECT_EQ(error_of({{"prompt", "a"}, {"logprobs", "x"}}).find("logprobs: "), 0U);
  EXPECT_EQ(error_of({{"prompt", "a"}, {"n", 3}, {"best_of", 2}}).find("best_of: "), 0U);
  EXPECT_EQ(error_of({{"prompt", "a"}, {"best_of", 2}, {"stream", true}}).find("best_of: "), 0U);
  EXPECT_EQ(error_of({{"prompt", "a"}, {"decoder", "magic"}}).find("decoder: "), 0U);
  EXPECT_EQ(error_of({{"prompt", std::vector<std::string>(1025, "a")}}).find("prompt: 1025 prompts"), 0U);
  EXPECT_EQ(error_of({{"prompt", std::vector<std::string>(8, "a")}, {"n", 200}}).find("n: "), 0U);
}

TEST(TextFields, GuidanceWithoutAPromptIsSaid) {
  EXPECT_EQ(plan_of({{"prompt", "a"}, {"guidance_scale", 1.5}}).report.ignored,
            std::vector<std::string>{"guidance_scale"});
  const TextPlan plan = plan_of({{"prompt", "a"}, {"guidance_scale", 1.5}, {"negative_prompt", "b"}});
  EXPECT_TRUE(plan.report.ignored.empty());
  EXPECT_EQ(plan.basis.negative_prompt.size(), 2U);
}

}  // namespace
}  // namespace plm
