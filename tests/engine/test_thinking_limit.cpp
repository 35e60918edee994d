// Covers src/engine/thinking_limit.cpp and src/decode/thinking_gate.cpp: a model of stories "thinks" its first
// sentence.
#include "engine/thinking_limit.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>

#include "base/json.h"
#include "engine_runs.h"

namespace plm {
namespace {

std::vector<std::string> prompts(std::size_t count) {
  std::ifstream file(PLM_MODELS "/tasks/story.jsonl");
  std::vector<std::string> all;
  for (std::string line; all.size() < count && std::getline(file, line);) {
    all.push_back(parse_json(line, "story").value()["prompt"].get<std::string>());
  }
  return all;
}

struct Thought {
  std::string text;
  DecodeOutcome outcome;
  std::size_t forced = 0;  // committed tokens that are the budget's
};

std::vector<Thought> think(const std::optional<ThinkingLimit>& limit, std::size_t together, std::size_t count = 40) {
  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf", {.most_sequences = together});
  const auto all = prompts(count);
  std::vector<Thought> thoughts(all.size());
  for (std::size_t first = 0; first < all.size(); first += together) {
    std::vector<std::unique_ptr<Generation>> generations;
    for (std::size_t i = first; i < std::min(first + together, all.size()); ++i) {
      Thought& thought = thoughts[i];
      GenerationRequest request{.max_tokens = 60, .thinking = limit};
      request.prompt = engine->tokenizer().encode(all[i], {.add_special = true}).value();
      request.listener = [&thought](const Event& event) {
        if (event.kind == EventKind::stable_prefix) thought.text += event.text;
        if (event.kind == EventKind::committed && event.rule == "thinking_budget") ++thought.forced;
      };
      generations.push_back(engine->start(std::move(request)).value());
    }
    EXPECT_TRUE(engine->run().has_value());
    for (std::size_t i = 0; i < generations.size(); ++i) thoughts[first + i].outcome = generations[i]->take().value();
  }
  return thoughts;
}

ThinkingLimit limit_of(std::string size) {
  return {.size = std::move(size), .begin = ":", .end = ".", .begins_inside = true, .grace = 4, .soft = 1};
}

TEST(ThinkingLimit, NoWordIsCutAndTheBoundIsKept) {
  const auto free = think(std::nullopt, 8);
  std::size_t closed = 0;
  for (const char* size : {"1", "3", "7", "0"}) {
    const auto bound = think(limit_of(size), 8);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto& [text, outcome, forced] = bound[i];
      EXPECT_EQ(outcome.forced_ends > 0, forced > 0);
      if (forced == 0) continue;
      ++closed;
      EXPECT_LE(outcome.thinking_tokens, std::stoul(size) + 4 + 16);
      const std::string thought = text.substr(0, text.find('.'));
      ASSERT_TRUE(free[i].text.starts_with(thought)) << text;
      const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
      const bool is_cut = !thought.empty() && is_letter(thought.back()) && is_letter(free[i].text[thought.size()]);
      EXPECT_FALSE(is_cut) << text << " | " << free[i].text;
    }
  }
  EXPECT_GT(closed, 100U);
}

TEST(ThinkingLimit, ABudgetThatIsNotReachedChangesNothing) {
  const auto free = think(std::nullopt, 8);
  for (const char* size : {"-1", "40"}) {
    const auto bound = think(limit_of(size), 8);
    for (std::size_t i = 0; i < free.size(); ++i) {
      EXPECT_EQ(bound[i].text, free[i].text);
      EXPECT_EQ(bound[i].outcome.forced_ends, 0U);
      EXPECT_GT(bound[i].outcome.thinking_tokens, 0U);
    }
  }
}

TEST(ThinkingLimit, TextsAreTheSameInAnyBatch) {
  ThinkingLimit soft = limit_of("8");
  soft.soft = 0.3;
  soft.message = " so";
  const auto alone = think(soft, 1, 12), together = think(soft, 12, 12);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(alone[i].text, together[i].text);
}

TEST(ThinkingLimit, AMessageStandsInFrontOfTheMark) {
  ThinkingLimit limit = limit_of("3");
  limit.message = "hid";
  for (const Thought& thought : think(limit, 4, 8)) {
    if (thought.forced > 0) {
      EXPECT_NE(thought.text.find("hid."), std::string::npos) << thought.text;
    }
  }
}

TEST(ThinkingLimit, RulesLeaveRoomForTheAnswer) {
  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf");
  const Tokenizer& tokenizer = engine->tokenizer();
  EXPECT_EQ(answer_reserve(10000), 1000U);
  EXPECT_EQ(answer_reserve(1000), 256U);
  EXPECT_EQ(answer_reserve(100), 50U);
  EXPECT_EQ(thinking_rules(limit_of("900"), tokenizer, {.max_tokens = 1000}).value().tokens, 744U);
  EXPECT_EQ(thinking_rules(limit_of("0.5"), tokenizer, {.max_tokens = 1000, .prompt = 90}).value().tokens, 45U);
  EXPECT_EQ(thinking_rules(limit_of("-1"), tokenizer, {.max_tokens = 1000}).value().tokens, std::nullopt);
  EXPECT_FALSE(thinking_rules(limit_of("x"), tokenizer, {.max_tokens = 1000}).has_value());
  ThinkingLimit unmarked = limit_of("5");
  unmarked.end.clear();
  EXPECT_EQ(thinking_rules(unmarked, tokenizer, {.max_tokens = 1000}).error().kind, ErrorKind::usage);
}

TEST(ThinkingLimit, WhatDoesNotGoTogetherIsRefused) {
  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf");
  GenerationRequest request{.max_tokens = 8, .banned_phrases = {"x"}, .thinking = limit_of("5")};
  request.prompt = encoded(*engine, "Thot hev:");
  EXPECT_EQ(engine->start(request).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace plm
