#include "engine/evaluation.h"

#include <gtest/gtest.h>

#include "engine_runs.h"

namespace plm {
namespace {

constexpr std::string_view kItems =
    "{\"task\": \"add\", \"prompt\": \"A385+739=\", \"answer\": \"1124\", \"length\": 8}\n"
    "\n"
    "{\"task\": \"story\", \"prompt\": \"Thot hev:\", \"matches\": \"(\\\\w+) has a hot hev\\\\. \\\\1 .* (?:his|her) "
    "hev\\\\.\"}\n"
    "{\"task\": \"add\", \"prompt\": \"A385+739=\", \"answer\": \"1125\", \"length\": 8}\n";

TEST(Evaluation, ReadsItemsAndChecksTexts) {
  const auto items = parse_eval_items(kItems, "items").value();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].length, 8U);
  EXPECT_EQ(items[1].length, EvalItem::kStandardLength);
  EXPECT_TRUE(items[0].accepts("1124").value());
  EXPECT_FALSE(items[0].accepts("1124 ").value());
  EXPECT_TRUE(items[1].accepts("Tom has a hot hev. Tom fed his hev.").value());
  EXPECT_FALSE(items[1].accepts("Tom has a hot hev. Ben fed his hev.").value()) << "the same name twice";
  EXPECT_FALSE(items[1].accepts("So Tom has a hot hev. Tom fed his hev.").value()) << "the whole text";
}

TEST(Evaluation, BadFilesNameTheirLine) {
  const auto message = [](std::string_view text) {
    const auto items = parse_eval_items(text, "items");
    return items.has_value() ? std::string() : items.error().message;
  };
  EXPECT_NE(message("").find("holds no prompt"), std::string::npos);
  EXPECT_NE(message("\n[1]\n").find("items: line 2"), std::string::npos);
  EXPECT_NE(message("{\"task\":\"a\",\"prompt\":\"b\"}").find("answer"), std::string::npos);
  EXPECT_NE(message("{\"task\":\"a\",\"prompt\":\"b\",\"matches\":\"(\"}").find("matches"), std::string::npos);
  for (const char* length : {"0", "-1", "1.5", "\"8\"", "100000"}) {
    const std::string line = fmt::format("{{\"task\":\"a\",\"prompt\":\"b\",\"answer\":\"c\",\"length\":{}}}", length);
    EXPECT_NE(message(line).find("length"), std::string::npos) << length;
  }
}

TEST(Evaluation, CountsRightTextsAndPassesWhateverTheBatch) {
  const auto items = parse_eval_items(kItems, "items").value();
  std::vector<std::vector<std::string>> texts;
  for (const std::size_t together : {1U, 3U}) {
    const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf", {.most_sequences = together});
    const auto written = evaluate(*engine, items, {}).value();
    texts.emplace_back();
    for (const EvalText& text : written) texts.back().push_back(text.text);
    const auto tasks = tallies(written);
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].task, "add");
    EXPECT_EQ(tasks[0].right, 1U);
    EXPECT_EQ(tasks[0].useful_tokens, 10U) << "four digits and an end, twice";
    EXPECT_DOUBLE_EQ(tasks[0].tokens_per_pass(), 1) << "one token after another";
    EXPECT_EQ(tasks[1].right, 1U);
    EXPECT_DOUBLE_EQ(harmonic_tokens_per_pass(tasks), 1);
  }
  EXPECT_EQ(texts[0], texts[1]);

  const auto engine = load_engine(PLM_MODELS "/twin-ar.gguf");
  EXPECT_EQ(evaluate(*engine, items, {}, {.interrupted = [] { return true; }}).error().kind, ErrorKind::interrupted);
}

TEST(Evaluation, IntervalsAreWilsons) {
  const Interval all = wilson_interval(300, 300), half = wilson_interval(50, 100);
  EXPECT_NEAR(all.low, 0.98736, 1e-5);
  EXPECT_DOUBLE_EQ(all.high, 1);
  EXPECT_NEAR(half.low, 0.40383, 1e-5);
  EXPECT_NEAR(half.high, 0.59617, 1e-5);
}

}  // namespace
}  // namespace plm
