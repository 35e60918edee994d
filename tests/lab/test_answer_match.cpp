#include "lab/answer_match.h"

#include <memory>

#include "metric_cases.h"

namespace plm {
namespace {

struct Judged {
  std::vector<double> confidences;
  std::unique_ptr<bool[]> is_right;
  [[nodiscard]] std::span<const bool> right() const { return {is_right.get(), confidences.size()}; }
};

Judged judged(const Json& input) {
  Judged all{case_numbers(input["conf"]), std::make_unique<bool[]>(input["conf"].size() + 1)};
  for (std::size_t i = 0; i < all.confidences.size(); ++i) all.is_right[i] = input["correct"][i] == 1;
  return all;
}

TEST(AnswerMatch, EveryCaseOfAnswers) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("exact_match", [](const Json& in) -> std::optional<double> {
    return is_exact_match(in["a"].get<std::string>(), in["b"].get<std::string>()) ? 1 : 0;
  });
  check_cases("last_number", [](const Json& in) { return last_number(in["text"].get<std::string>()); });
  check_cases("numeric_match", [](const Json& in) -> std::optional<double> {
    const NumberTolerance tolerance{in.value("rel", 1e-6), in.value("abs", 1e-9)};
    return is_numeric_match(in["a"].get<std::string>(), in["b"].get<std::string>(), tolerance) ? 1 : 0;
  });
}

TEST(AnswerMatch, EveryCaseOfSamples) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("pass_at_k", [](const Json& in) { return pass_at_k(in["n"], in["c"], in["k"]); });
  check_cases("pass_all_k", [](const Json& in) { return pass_all_k(in["n"], in["c"], in["k"]); });
  check_cases("ece", [](const Json& in) {
    const Judged all = judged(in);
    return calibration_error(all.confidences, all.right(), in.value("bins", std::size_t{10}));
  });
  check_cases("brier", [](const Json& in) {
    const Judged all = judged(in);
    return brier_score(all.confidences, all.right());
  });
}

TEST(AnswerMatch, EveryCaseOfVotes) {
  PLM_NEEDS_METRIC_CASES();
  for (const Json& one : metric_cases("vote")) {
    SCOPED_TRACE(one["id"]);
    std::vector<std::optional<std::string>> answers;
    for (const Json& answer : one["input"]["answers"]) {
      answers.push_back(answer.is_null() ? std::nullopt : std::optional(answer.get<std::string>()));
    }
    std::vector<double> weights;
    if (one["input"].contains("weights") && !one["input"]["weights"].is_null()) {
      weights = case_numbers(one["input"]["weights"]);
    }
    const auto vote = weigh_votes(answers, weights);
    ASSERT_EQ(vote.has_value(), !one["expect"].is_null());
    if (!vote.has_value()) continue;
    EXPECT_EQ(vote->answer, one["expect"][0]);
    ASSERT_EQ(vote->share.has_value(), !one["expect"][1].is_null());
    if (vote->share.has_value()) {
      EXPECT_NEAR(*vote->share, one["expect"][1].get<double>(), 1e-9);
    }
  }
}

TEST(AnswerMatch, NumbersAsTheyAreWritten) {
  EXPECT_EQ(last_number("1,234.5 and -2/4"), -0.5);
  EXPECT_EQ(last_number("3,14"), 14);  // a decimal comma is none
  EXPECT_EQ(last_number(".5"), 0.5);
  EXPECT_EQ(last_number("1e3"), 1000);
  EXPECT_FALSE(last_number("5/0").has_value());
  EXPECT_FALSE(last_number("none").has_value());
}

}  // namespace
}  // namespace plm
