#include <gtest/gtest.h>

#include <cmath>

#include "sampling/golden_cases.h"
#include "sampling/word_list.h"

namespace plm {
namespace {

TEST(Infill, AgreesWithTheGoldenCases) {
  int cases = 0;
  for (const Json& test_case : golden_cases("infill.json")) {
    SCOPED_TRACE(test_case["id"].get<std::string>());
    std::vector<std::string> words;
    std::vector<std::int32_t> ends;
    std::vector<float> logits;
    for (const Json& candidate : test_case["candidates"]) {
      if (candidate["eog"].get<bool>()) ends.push_back(static_cast<std::int32_t>(words.size()));
      words.push_back(bytes_of_hex(candidate["hex"]));
      logits.push_back(candidate["logit"]);
    }
    const WordList texts(words, ends);
    Settings settings(sampling_parameters());
    ASSERT_TRUE(settings.set_text("samplers", "infill"));
    Candidates candidates;
    ASSERT_TRUE(Chain::create(settings, texts)->select(logits, {}, candidates));
    const auto left = in_canonical_order(candidates);
    const Json& out = test_case["out"];
    ASSERT_EQ(left.size(), out.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      // -1 is llama.cpp's own end-of-text token with a made-up logit; here it is the candidate that ends the text.
      const int expected = out[i]["i"];
      EXPECT_EQ(left[i].id, expected >= 0 ? expected : ends.front());
      if (expected < 0) continue;
      EXPECT_EQ(left[i].logit, out[i]["logit"].get<float>());
    }
    ++cases;
  }
  EXPECT_EQ(cases, 7);
}

TEST(Infill, WithoutAnyEndTheLikeliestStays) {
  const WordList texts({"a", "b", "c", "d", "e", "f", "g"}, {});
  Settings settings(sampling_parameters());
  ASSERT_TRUE(settings.set_text("samplers", "infill"));
  Candidates candidates;
  const auto selection =
      Chain::create(settings, texts)->select(std::vector<float>{1, 1, 1, 1.1F, 1, 1, 1}, {}, candidates);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->id, 3);
  EXPECT_EQ(selection->candidates_left, 1U);
}

}  // namespace
}  // namespace plm
