#include "lab/distribution.h"

#include "metric_cases.h"

namespace plm {
namespace {

std::vector<double> probabilities_of(const Json& input) {
  if (input.contains("probs")) return case_numbers(input["probs"]);
  std::vector<double> logits = case_numbers(input["logits"]);
  const double temperature = input.value("temperature", input.value("temp", 1.0));
  for (double& logit : logits) logit /= temperature;
  return softmax(logits);
}

TEST(Distribution, EveryCaseOfOneDistribution) {
  PLM_NEEDS_METRIC_CASES();
  using Numbers = std::vector<double>;
  const auto check = [](const char* metric, const auto& measure) {
    check_cases(metric, [&](const Json& input) -> std::optional<double> { return measure(probabilities_of(input)); });
  };
  check("entropy", [](const Numbers& p) { return entropy(p); });
  check("varentropy", [](const Numbers& p) { return varentropy(p); });
  check("normalized_entropy", [](const Numbers& p) { return normalised_entropy(p); });
  check("support_size", [](const Numbers& p) { return static_cast<double>(support_size(p)); });
  check("effective_support", [](const Numbers& p) { return effective_support(p); });
  check("simpson_support", [](const Numbers& p) { return simpson_support(p); });
  check_cases("nucleus_size", [](const Json& input) -> std::optional<double> {
    return static_cast<double>(nucleus_size(probabilities_of(input), input["P"]));
  });
}

TEST(Distribution, EveryCaseOfTwoAndOfTexts) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("kl", [](const Json& input) -> std::optional<double> {
    return kl_divergence(case_numbers(input["p"]), case_numbers(input["q"]));
  });
  check_cases("total_variation", [](const Json& input) -> std::optional<double> {
    return total_variation(case_numbers(input["p"]), case_numbers(input["q"]));
  });
  check_cases("perplexity", [](const Json& input) { return perplexity(case_numbers(input["logprobs"])); });
  check_cases("bits_per_byte",
              [](const Json& input) { return bits_per_byte(case_numbers(input["logprobs"]), input["bytes"]); });
}

TEST(Distribution, ByHand) {
  EXPECT_NEAR(entropy(std::vector<double>{0.5, 0.5, 0}), std::log(2.0), 1e-15);
  EXPECT_NEAR(entropy_of_logits(std::vector<double>{3, 3}), std::log(2.0), 1e-15);
  EXPECT_TRUE(softmax(std::vector<double>{-std::numeric_limits<double>::infinity()}).empty());
  EXPECT_FALSE(perplexity({}).has_value());
  EXPECT_TRUE(std::isinf(kl_divergence(std::vector<double>{1, 0}, std::vector<double>{0, 1})));
}

}  // namespace
}  // namespace plm
