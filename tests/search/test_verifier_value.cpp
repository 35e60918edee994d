#include "search/verifier_value.h"

#include <gtest/gtest.h>

#include "search/conformance.h"

namespace plm {
namespace {

TEST(VerifierValue, IsThatOfTheReference) {
  for_each_case("binary_verifier_accuracy", [](const Json& input, const Json& expected) {
    const VerifierRates rates{input["tpr"].get<double>(), input["fpr"].get<double>()};
    EXPECT_NEAR(accuracy_with(rates, input["p"].get<double>(), input["n"].get<std::size_t>()), expected.get<double>(),
                1e-9);
  });
  for_each_case("best_of_n_kl", [](const Json& input, const Json& expected) {
    EXPECT_NEAR(best_of_divergence(input["n"].get<std::size_t>()), expected.get<double>(), 1e-9);
  });
}

TEST(VerifierValue, AnExactVerifierReachesTheCeiling) {
  for (const double right : {0.0, 0.05, 0.3, 1.0}) {
    for (const std::size_t count : {1U, 8U, 64U}) {
      EXPECT_NEAR(accuracy_with({}, right, count), pass_at(right, count), 1e-12);
    }
  }
  EXPECT_NEAR(accuracy_with({0.5, 0.5}, 0.3, 16), 0.3, 1e-12);  // one that throws a coin
}

}  // namespace
}  // namespace plm
