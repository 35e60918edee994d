#include "lab/diversity.h"

#include "metric_cases.h"

namespace plm {
namespace {

std::vector<std::vector<double>> vectors_of(const Json& input) {
  std::vector<std::vector<double>> vectors;
  for (const Json& vector : input["vectors"]) vectors.push_back(case_numbers(vector));
  return vectors;
}

TEST(Diversity, EveryCase) {
  PLM_NEEDS_METRIC_CASES();
  check_cases("distinct_n", [](const Json& in) {
    const bool of_tokens = in.value("denominator", "ngrams") == "tokens";
    return distinct_ngrams(TokenIds().of_all(in["texts"]), in["n"],
                           of_tokens ? DistinctOf::tokens : DistinctOf::ngrams);
  });
  check_cases("unique_ngrams", [](const Json& in) -> std::optional<double> {
    return static_cast<double>(unique_ngrams(TokenIds().of_all(in["texts"]), in["n"]));
  });
  check_cases("expected_distinct",
              [](const Json& in) { return expected_distinct(TokenIds().of_all(in["texts"]), in["vocab"], in["n"]); });
  check_cases("ttr", [](const Json& in) { return type_token_ratio(TokenIds().of(in["tokens"])); });
  check_cases("mattr",
              [](const Json& in) { return moving_type_token_ratio(TokenIds().of(in["tokens"]), in["window"]); });
  check_cases("lz76", [](const Json& in) -> std::optional<double> {
    const auto count = phrase_count(TokenIds().of(in["tokens"]));
    return count.has_value() ? std::optional(static_cast<double>(*count)) : std::nullopt;
  });
  check_cases("self_bleu", [](const Json& in) {
    return self_bleu(TokenIds().of_all(in["texts"]), {.most_n = in.value("max_n", std::size_t{4})});
  });
  check_cases("bleu", [](const Json& in) -> std::optional<double> {
    TokenIds ids;
    const auto text = ids.of(in["hyp"]);
    return bleu(text, ids.of_all(in["refs"]), {.most_n = in.value("max_n", std::size_t{4})});
  });
}

TEST(Diversity, EveryCaseOfBytesAndVectors) {
  PLM_NEEDS_METRIC_CASES();
  for (const Json& one : metric_cases("compression_ratio")) {
    SCOPED_TRACE(one["id"]);
    const auto found = compression_ratio(one["input"]["utf8"].get<std::string>());
    ASSERT_EQ(found.has_value(), !one["expect"].is_null());
    // Versions of zlib differ by a few bytes.
    if (found.has_value()) {
      EXPECT_NEAR(*found / one["expect"].get<double>(), 1, 0.02);
    }
  }
  check_cases("vendi", [](const Json& in) { return vendi_score(vectors_of(in)); });
  check_cases("mean_pairwise_distance", [](const Json& in) { return mean_pairwise_distance(vectors_of(in)); });
}

TEST(Diversity, ThePhrasesOfThePaper) {
  std::vector<std::int32_t> bits;
  for (const char bit : std::string("0001101001000101")) bits.push_back(bit - '0');
  EXPECT_EQ(phrase_count(bits), 6U);
  EXPECT_FALSE(phrase_count(std::vector<std::int32_t>(kMostPhraseTokens + 1)).has_value());
}

}  // namespace
}  // namespace plm
