#include "model/layers/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/tiny_llama.h"

namespace plm {
namespace {

double plain_frequency(std::size_t i, std::size_t dimensions, double base) {
  return std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dimensions));
}

float angle_table_entry(const Rope& rope, std::uint32_t position, std::size_t column) {
  std::vector<float> angles(rope.dimensions());
  rope.fill_angles(std::vector<std::uint32_t>{position}, angles);
  return angles[column];
}

TEST(Rope, PlainFrequenciesArePowersOfTheBase) {
  for (const double base : {10000.0, 100000.0, 500000.0, 1e6, 1.0}) {
    for (const std::size_t dimensions : {2U, 16U, 64U, 128U, 256U}) {
      const Rope rope(dimensions, base);
      ASSERT_EQ(rope.dimensions(), dimensions);
      for (std::size_t i = 0; i < dimensions / 2; ++i) {
        EXPECT_EQ(rope.frequencies()[i], static_cast<float>(plain_frequency(i, dimensions, base))) << base << " " << i;
      }
    }
  }
}

TEST(Rope, LinearScalingAndDivisorsDivide) {
  const Rope plain(32, 10000);
  Rope linear(32, 10000);
  linear.scale_linear(4);
  std::vector<float> divisors;
  for (int i = 0; i < 16; ++i) divisors.push_back(1.0F + 0.5F * static_cast<float>(i));
  Rope divided(32, 10000);
  divided.scale_by_divisors(divisors);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(linear.frequencies()[i], plain.frequencies()[i] / 4);
    EXPECT_EQ(divided.frequencies()[i], plain.frequencies()[i] / divisors[i]);
  }
  EXPECT_EQ(angle_table_entry(linear, 0, 0), 1.0F) << "no factor on cosines";
}

// arXiv 2309.00071: dims(r) = d ln(original / (2 pi r)) / (2 ln base); a ramp from floor(dims(fast)) to
// ceil(dims(slow)).
TEST(Rope, YarnFollowsItsFormula) {
  struct Case {
    std::size_t dimensions;
    double base;
    Rope::Yarn yarn;
  };
  const Case cases[] = {
      {64, 10000, {.factor = 4, .original_context = 4096}},
      {128, 1e6, {.factor = 32, .original_context = 32768}},
      {16, 10000, {.factor = 8, .original_context = 32, .beta_fast = 16, .beta_slow = 2}},
      {64, 150000, {.factor = 32, .original_context = 4096, .attention_factor = 0.5}},
      {64, 10000, {.factor = 0.5, .original_context = 4096}},
  };
  for (const auto& [dimensions, base, yarn] : cases) {
    Rope rope(dimensions, base);
    rope.scale_yarn(yarn);
    const auto size = static_cast<double>(dimensions);
    const auto dims = [&, &b = base, &y = yarn](double rotations) {
      return size * std::log(y.original_context / (2 * M_PI * rotations)) / (2 * std::log(b));
    };
    const double low = std::clamp(std::floor(dims(yarn.beta_fast)), 0.0, size - 1);
    const double high = std::clamp(std::ceil(dims(yarn.beta_slow)), 0.0, size - 1);
    for (std::size_t i = 0; i < dimensions / 2; ++i) {
      const double plain = plain_frequency(i, dimensions, base);
      const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      const double expected = plain / yarn.factor * ramp + plain * (1 - ramp);
      EXPECT_NEAR(rope.frequencies()[i], expected, 2e-7 * expected) << base << " " << i;
    }
    const double stretch = yarn.factor > 1 ? 0.1 * std::log(yarn.factor) + 1 : 1;
    EXPECT_FLOAT_EQ(angle_table_entry(rope, 0, 0), static_cast<float>(stretch * yarn.attention_factor));
    EXPECT_EQ(angle_table_entry(rope, 0, dimensions / 2), 0.0F);
  }
}

TEST(Rope, YarnWithAnEmptyRampIsAStep) {
  Rope rope(16, 10000);
  rope.scale_yarn({.factor = 4, .original_context = 1, .beta_fast = 32, .beta_slow = 32});  // both ends at pair 0
  EXPECT_EQ(rope.frequencies()[0], 1.0F);
  for (std::size_t i = 1; i < 8; ++i) {
    EXPECT_FLOAT_EQ(rope.frequencies()[i], static_cast<float>(plain_frequency(i, 16, 10000) / 4));
  }
}

TEST(Rope, AnglesAreCosinesThenSinesOfTheFloat32Product) {
  const Rope rope(64, 500000);
  const std::vector<std::uint32_t> positions{0, 1, 2, 1000, 131071, 1U << 24};
  std::vector<float> angles(positions.size() * 64);
  rope.fill_angles(positions, angles);
  for (std::size_t row = 0; row < positions.size(); ++row) {
    for (std::size_t i = 0; i < 32; ++i) {
      const float angle = static_cast<float>(positions[row]) * rope.frequencies()[i];
      EXPECT_NEAR(angles[row * 64 + i], std::cos(static_cast<double>(angle)), 6e-8) << row << " " << i;
      EXPECT_NEAR(angles[row * 64 + 32 + i], std::sin(static_cast<double>(angle)), 6e-8) << row << " " << i;
    }
  }
}

class RopeFromFile : public testing::Test {
 protected:
  Result<Rope> read() {
    OpenTiny open(model_);
    open.file.set_configured_context(configured_context_);
    return Rope::from_file(open.file, 8, TinyLlama::kContext);
  }
  std::string refusal() {
    const auto rope = read();
    if (rope.has_value()) return "accepted";
    EXPECT_EQ(rope.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(rope.error().message.find("tiny.gguf: "), 0U) << rope.error().message;
    return rope.error().message;
  }
  void expect_frequencies(const Rope& expected) {
    const auto rope = read();
    ASSERT_TRUE(rope.has_value()) << rope.error().message;
    EXPECT_TRUE(std::ranges::equal(rope->frequencies(), expected.frequencies()));
  }

  TinyLlama model_;
  std::size_t configured_context_ = 0;
};

TEST_F(RopeFromFile, SilenceMeansPlain) {
  expect_frequencies(Rope(8, 10000));
  model_.keys["llama.rope.scaling.type"] = "none";
  model_.keys["llama.rope.freq_base"] = 5e5F;
  model_.keys["llama.rope.dimension_count"] = 6U;
  expect_frequencies(Rope(6, 5e5));
}

TEST_F(RopeFromFile, ReadsEveryScaling) {
  model_.keys["llama.rope.scaling.type"] = "linear";
  model_.keys["llama.rope.scaling.factor"] = 2.0F;
  Rope linear(8, 10000);
  linear.scale_linear(2);
  expect_frequencies(linear);

  model_.keys["llama.rope.scaling.type"] = "yarn";
  Rope yarn(8, 10000);
  yarn.scale_yarn({.factor = 2, .original_context = TinyLlama::kContext});
  expect_frequencies(yarn);

  model_.keys["llama.rope.scaling.original_context_length"] = 16U;
  model_.keys["llama.rope.scaling.yarn_beta_fast"] = 8.0F;
  model_.keys["llama.rope.scaling.yarn_beta_slow"] = 0.5F;
  model_.keys["llama.rope.scaling.yarn_attn_factor"] = 2.0F;
  Rope set(8, 10000);
  set.scale_yarn({.factor = 2, .original_context = 16, .beta_fast = 8, .beta_slow = 0.5, .attention_factor = 2});
  expect_frequencies(set);
  EXPECT_EQ(angle_table_entry(read().value(), 0, 0), angle_table_entry(set, 0, 0));
}

TEST_F(RopeFromFile, ReadsDivisors) {
  model_.tensors["rope_freqs.weight"] = {.dims = {4}, .fill = 2.0F};
  Rope divided(8, 10000);
  divided.scale_by_divisors(std::vector<float>(4, 2.0F));
  expect_frequencies(divided);
  model_.tensors["rope_freqs.weight"].type = "F16";
  expect_frequencies(divided);

  for (const float bad : {0.0F, -1.0F, std::nanf(""), HUGE_VALF}) {
    model_.tensors["rope_freqs.weight"] = {.dims = {4}, .fill = bad};
    EXPECT_NE(refusal().find("tensor rope_freqs.weight: divisors must be"), std::string::npos);
  }
  model_.tensors["rope_freqs.weight"] = {.dims = {5}, .fill = 1.0F};
  EXPECT_NE(refusal().find("tensor rope_freqs.weight: shape [5], expected [4]"), std::string::npos);
}

// Dynamic NTK: base * (factor L / original - (factor - 1))^(d / (d - 2)), L the configured context.
TEST_F(RopeFromFile, ADynamicBaseGrowsWithTheConfiguredContext) {
  model_.keys["llama.rope.scaling.type"] = "dynamic";
  model_.keys["llama.rope.scaling.factor"] = 4.0F;
  for (const std::size_t context : {0U, 8U, 64U}) {
    configured_context_ = context;
    expect_frequencies(Rope(8, 10000));
  }
  configured_context_ = 96;
  const double grown = 10000 * std::pow(4 * 96.0 / 64 - 3, 8.0 / 6);
  const Rope found = read().value();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.frequencies()[i], plain_frequency(i, 8, grown), 2e-7 * plain_frequency(i, 8, grown));
  }
  model_.keys["llama.rope.scaling.original_context_length"] = 96U;
  expect_frequencies(Rope(8, 10000));
}

TEST_F(RopeFromFile, LongropeChoosesItsDivisorsByTheConfiguredContext) {
  model_.tensors["rope_factors_long.weight"] = {.dims = {4}, .fill = 4.0F};
  model_.tensors["rope_factors_short.weight"] = {.dims = {4}, .fill = 2.0F};
  model_.keys["llama.rope.scaling.original_context_length"] = 16U;
  Rope shorter(8, 10000), longer(8, 10000);
  shorter.scale_by_divisors(std::vector<float>(4, 2.0F));
  longer.scale_by_divisors(std::vector<float>(4, 4.0F));
  for (const std::size_t context : {1U, 16U}) {
    configured_context_ = context;
    expect_frequencies(shorter);
  }
  for (const std::size_t context : {0U, 17U, 64U}) {  // 0: the trained one
    configured_context_ = context;
    expect_frequencies(longer);
  }
  const auto magnitude = static_cast<float>(std::sqrt(1 + std::log(64.0 / 16) / std::log(16.0)));
  EXPECT_FLOAT_EQ(angle_table_entry(read().value(), 0, 0), magnitude) << "whichever divisors are used";
  model_.keys["llama.rope.scaling.attn_factor"] = 1.5F;
  EXPECT_FLOAT_EQ(angle_table_entry(read().value(), 0, 0), 1.5F);
  model_.keys["llama.rope.scaling.type"] = "none";
  expect_frequencies(Rope(8, 10000));
  model_.keys["llama.rope.scaling.type"] = "longrope";
  model_.tensors.erase("rope_factors_short.weight");
  EXPECT_NE(refusal().find("tensor rope_factors_short.weight: missing"), std::string::npos);
}

TEST_F(RopeFromFile, AnOldKeyOfLinearScalingCounts) {
  model_.keys["llama.rope.scale_linear"] = 2.0F;
  Rope linear(8, 10000);
  linear.scale_linear(2);
  expect_frequencies(linear);
  model_.keys["llama.rope.scaling.type"] = "none";
  expect_frequencies(Rope(8, 10000));
}

TEST_F(RopeFromFile, YarnWithoutItsRampDividesAll) {
  model_.keys["llama.rope.scaling.type"] = "yarn";
  model_.keys["llama.rope.scaling.factor"] = 4.0F;
  model_.keys["llama.rope.scaling.yarn_ext_factor"] = 0.0F;
  Rope linear(8, 10000);
  linear.scale_linear(4);
  expect_frequencies(linear);
  EXPECT_EQ(angle_table_entry(read().value(), 0, 0), 1.0F);
  model_.keys["llama.rope.scaling.yarn_ext_factor"] = 1.5F;
  EXPECT_NE(refusal().find("yarn_ext_factor = 1.5: must be between 0 and 1"), std::string::npos);
}

TEST_F(RopeFromFile, RefusesUnknownScalingAndOddSizes) {
  model_.keys["llama.rope.scaling.type"] = "spiral";
  EXPECT_EQ(refusal(),
            "tiny.gguf: llama.rope.scaling.type = \"spiral\": must be none, linear, yarn, longrope or dynamic");
  model_.keys["llama.rope.scaling.type"] = "linear";
  EXPECT_NE(refusal().find("llama.rope.scaling.factor"), std::string::npos) << "a scaling needs its factor";
  model_.keys.erase("llama.rope.scaling.type");
  model_.keys["llama.rope.dimension_count"] = 7U;
  EXPECT_NE(refusal().find("llama.rope.dimension_count = 7: must be even"), std::string::npos);
  model_.keys["llama.rope.dimension_count"] = 10U;
  EXPECT_NE(refusal().find("llama.rope.dimension_count = 10: must be between 2 and 8"), std::string::npos);
}

// Sine and cosine are defined up to 2^40 radians; nothing in a file may lead beyond.
TEST_F(RopeFromFile, RefusesRotationsTooFastToCompute) {
  model_.keys["llama.rope.freq_base"] = 1e-30F;
  EXPECT_NE(refusal().find("radians per position, expected at most"), std::string::npos);
  model_.keys.erase("llama.rope.freq_base");
  model_.keys["llama.rope.scaling.type"] = "linear";
  model_.keys["llama.rope.scaling.factor"] = 1e-40F;
  EXPECT_NE(refusal().find("radians per position, expected at most"), std::string::npos);
  model_.keys["llama.rope.scaling.type"] = "yarn";
  model_.keys["llama.rope.scaling.factor"] = 2.0F;
  model_.keys["llama.rope.freq_base"] = 1.0F;  // ln 1 = 0 below the fraction line
  EXPECT_TRUE(read().has_value() || refusal().find("radians per position") != std::string::npos);
  model_.keys.erase("llama.rope.scaling.type");
  model_.tensors["rope_freqs.weight"] = {.dims = {4}, .fill = 1e-40F};
  EXPECT_NE(refusal().find("radians per position, expected at most"), std::string::npos);
}

}  // namespace
}  // namespace plm
