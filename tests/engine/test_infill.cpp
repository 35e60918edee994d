#include "engine/infill.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine_runs.h"

namespace plm {
namespace {

constexpr const char* kMasked = PLM_MODELS "/twin-mdm.gguf";

TEST(Infill, TemplatesAreCutAtTheirHoles) {
  const HoleyText text = parse_holes("def f(x):\n  {{hole:12}}\n  return {{hole}}", 5).value();
  EXPECT_EQ(text.texts, (std::vector<std::string>{"def f(x):\n  ", "\n  return ", ""}));
  EXPECT_EQ(text.lengths, (std::vector<std::size_t>{12, 5}));
  EXPECT_EQ(parse_holes("{{hole:1}}{{hole:2}}").value().texts, (std::vector<std::string>{"", "", ""}));
}

TEST(Infill, WhatIsNoTemplateSaysWhatIs) {
  for (const char* text : {"", "no holes", "{{ hole:3 }}", "{{hole", "{{hole:3", "{{hole}}", "{{hole:0}}", "{{hole:}}",
                           "{{hole:-1}}", "{{hole:a}}", "{{hole:3 }}", "{{hole3}}", "{{hole:99999999999999999999}}"}) {
    const auto parsed = parse_holes(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
    EXPECT_NE(parsed.error().message.find("hole:12"), std::string::npos) << parsed.error().message;
  }
  EXPECT_FALSE(parse_holes("{{hole:1}}{{hole:1}}", {}, {.holes = 1}).has_value());
}

TEST(Infill, EscapesAreThoseOfACommandLine) {
  EXPECT_EQ(unescaped(R"(a\nb\tc\\n\"\d\)"), "a\nb\tc\\n\"\\d\\");
  EXPECT_EQ(unescaped(""), "");
}

TEST(Infill, TokensGoAroundTheHoles) {
  const auto engine = load_engine(kMasked);
  const auto page = encode_holes(engine->tokenizer(), {.texts = {"ab", "c", ""}, .lengths = {2, 3}}, {}).value();
  std::vector<TokenId> expected = encoded(*engine, "ab");
  const std::size_t ahead = expected.size();
  expected.push_back('c');
  EXPECT_EQ(page.given, expected);
  ASSERT_EQ(page.holes.size(), 2U);
  EXPECT_EQ(page.holes[0].position, ahead);
  EXPECT_EQ(page.holes[1].position, ahead + 1);
  EXPECT_EQ(page.holes[1].length, 3U);
}

TEST(Infill, NoiseMasksTheShareThatItSays) {
  std::vector<TokenId> tokens(4000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i);
  for (const double strength : {0.0, 0.1, 0.4, 0.9, 1.0}) {
    const GivenAndHoles page = masked_at_random(tokens, 7, strength, 5);
    std::size_t masked = 0;
    std::vector<bool> is_given(tokens.size());
    for (const TokenId token : page.given) is_given[token] = true;
    std::size_t at = 0, given = 0;
    for (const Hole& hole : page.holes) {
      EXPECT_GE(hole.position, 7U);
      for (; given < hole.position - 7; ++given) EXPECT_TRUE(is_given[at++]);
      for (std::size_t i = 0; i < hole.length; ++i) EXPECT_FALSE(is_given[at++]);
      masked += hole.length;
    }
    EXPECT_EQ(masked + page.given.size(), tokens.size());
    // 4 standard deviations
    const double expected = strength * 4000, spread = 4 * std::sqrt(4000 * strength * (1 - strength));
    EXPECT_NEAR(static_cast<double>(masked), std::max(expected, 1.0), spread + 1e-9) << strength;
  }
  EXPECT_NE(masked_at_random(tokens, 0, 0.4, 1).given, masked_at_random(tokens, 0, 0.4, 2).given);
  EXPECT_TRUE(masked_at_random({}, 0, 0.4, 1).holes.empty());
}

TEST(Infill, AHoleIsFilledFromBothSides) {
  // The sum is known to this model, so the digits between must come out.
  const auto engine = load_engine(kMasked);
  for (const char* sum : {"A385+739=1124"}) {
    const std::string text = sum;
    const std::size_t first = text.find('=') + 1;
    for (std::size_t at = first; at < text.size(); ++at) {
      const HoleyText holey{.texts = {text.substr(0, at), text.substr(at + 1)}, .lengths = {1}};
      const auto page = encode_holes(engine->tokenizer(), holey, {}).value();
      const auto generation = engine->start({.prompt = page.given, .holes = page.holes}).value();
      ASSERT_TRUE(engine->run().has_value());
      const DecodeOutcome outcome = generation->take().value();
      ASSERT_EQ(outcome.holes.size(), 1U);
      EXPECT_EQ(outcome.holes[0], std::vector<TokenId>{text[at]}) << sum << " at " << at;
    }
  }
}

TEST(Infill, HolesThatCannotBeSayWhatCan) {
  const auto engine = load_engine(kMasked, {.context_length = 32});
  const std::vector<TokenId> prompt = encoded(*engine, "A1+1=");
  const auto message = [&](std::vector<Hole> holes) {
    const auto generation = engine->start({.prompt = prompt, .holes = std::move(holes)});
    if (!generation.has_value()) return generation.error().message;
    return generation.value()->take().error().message;
  };
  EXPECT_NE(message({{2, 0}}).find("at least 1"), std::string::npos);
  EXPECT_NE(message({{3, 1}, {2, 1}}).find("in order"), std::string::npos);
  EXPECT_NE(message({{prompt.size() + 1, 1}}).find("given"), std::string::npos);
  EXPECT_NE(message({{2, 20}, {3, 20}}).find("--context"), std::string::npos);
  EXPECT_NE(message({{2, std::size_t(-1)}, {3, std::size_t(-1)}}).find("--context"), std::string::npos);
  const auto causal = load_engine(PLM_MODELS "/twin-ar.gguf");
  const auto started = causal->start({.prompt = prompt, .holes = {{2, 1}}});
  EXPECT_NE(started.error().message.find("holes"), std::string::npos);
}

TEST(Infill, TheMiddleIsAskedForWithItsTokens) {
  EngineOptions options;
  options.overrides = {"tokenizer.ggml.fim_pre_token_id=270", "tokenizer.ggml.fim_suf_token_id=271",
                       "tokenizer.ggml.fim_mid_token_id=272"};
  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf", options);
  ASSERT_TRUE(fills_in_the_middle(engine->vocabulary()));
  EXPECT_FALSE(fills_in_the_middle(load_engine(PLM_MODELS "/twin-ar.gguf")->vocabulary()));
  const auto prompt = fill_in_the_middle_prompt(engine->tokenizer(), "a", "b", {.add_special = false}).value();
  EXPECT_EQ(prompt, (std::vector<TokenId>{270, 'a', 271, 'b', 272}));
}

}  // namespace
}  // namespace plm
