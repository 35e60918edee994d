#include "lab/run_record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plm {
namespace {

TEST(RunRecord, ATraceTellsEveryStep) {
  const auto records = read_run_records(
      R"({"position": 3, "text": "a", "id": 7, "raw": {"support": 9, "entropy": 1.5, "rank": 2, "probability": 0.25},
         "steps": [{"sampler": "top_k", "support": 4, "entropy": 1.0, "rank": 2, "probability": 0.3}]})"
      "\n"
      R"({"text": "b", "id": 8, "raw": {"support": 9, "entropy": 0.5, "rank": 1, "probability": 0.5}, "steps": []})"
      "\n{\"taken_back\": 4}\n",
      "trace");
  // The first line was broken over two on purpose: a trace has one object a line.
  ASSERT_FALSE(records.has_value());
  const auto whole =
      read_run_records(R"({"text": "a", "id": 7, "raw": {"entropy": 1.5, "rank": 2, "probability": 0.25}, )"
                       R"("steps": [{"entropy": 1.0, "support": 4}]})"
                       "\n"
                       R"({"text": "b", "id": 8, "raw": {"entropy": 0.5, "rank": 1, "probability": 0.5}, "steps": []})"
                       "\n{\"taken_back\": 4}\n",
                       "trace");
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  ASSERT_EQ(whole->size(), 1U);
  const RunRecord& record = whole->front();
  EXPECT_EQ(record.tokens, (std::vector<std::int32_t>{7}));
  EXPECT_NEAR(record.log_probabilities.front(), std::log(0.25), 1e-12);
  EXPECT_EQ(record.chain_supports.front(), 4);
  EXPECT_EQ(record.displacement(), 1);
}

TEST(RunRecord, ObjectsListsAndLines) {
  constexpr std::string_view kOne =
      R"({"tokens": [1, 2], "stop": "eos", "mean_logprob_raw": -1.5, "displacement": 0.2})";
  const auto one = read_run_records(kOne, "x");
  ASSERT_TRUE(one.has_value()) << one.error().message;
  EXPECT_EQ(one->front().mean_log_probability(), -1.5);
  EXPECT_EQ(one->front().displacement(), 0.2);
  EXPECT_EQ(read_run_records(fmt::format("[{}, {}]", kOne, kOne), "x")->size(), 2U);
  EXPECT_EQ(read_run_records(fmt::format("{}\n{}\n", kOne, kOne), "x")->size(), 2U);
}

TEST(RunRecord, WordsStandForTokensOfAText) {
  const auto text = read_run_records("one two one", "x");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->front().tokens, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(read_run_records("", "x")->front().tokens.size(), 0U);
  EXPECT_EQ(read_run_records("[sic] is no list", "x")->front().tokens.size(), 4U);
}

TEST(RunRecord, ErrorsNameTheField) {
  const auto message = [](std::string_view text) {
    const auto records = read_run_records(text, "x.json");
    EXPECT_FALSE(records.has_value()) << text;
    return records.has_value() ? "" : records.error().message;
  };
  EXPECT_NE(message(R"({"tokens": "a"})").find("x.json: tokens"), std::string::npos);
  EXPECT_NE(message(R"({"tokens": [1], "states": [1]})").find("states"), std::string::npos);
  EXPECT_NE(message(R"({"answer": 1})").find("neither tokens nor text"), std::string::npos);
  EXPECT_NE(message(R"([{"text": "a"}, 3])").find("record 2"), std::string::npos);
}

}  // namespace
}  // namespace plm
