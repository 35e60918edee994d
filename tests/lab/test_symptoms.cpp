// Tests of src/lab/symptom.cpp and the registry in src/lab/symptoms.
#include "lab/symptom.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/json.h"
#include "lab/repetition.h"

namespace plm {
namespace {

std::set<std::string_view> found_in(const RunRecord& record) {
  std::set<std::string_view> names;
  for (const Diagnosis& diagnosis : diagnose(record)) {
    EXPECT_FALSE(diagnosis.finding.evidence.empty());
    names.insert(diagnosis.symptom->head.name);
  }
  return names;
}

// A text of different tokens, none of them surprising.
RunRecord healthy(std::size_t length = 200) {
  RunRecord record;
  for (std::size_t i = 0; i < length; ++i) {
    record.tokens.push_back(static_cast<std::int32_t>(i % 2 == 0 ? i : i % 20));
    record.log_probabilities.push_back(-1.2);
    record.ranks.push_back(i % 3 == 0 ? 2 : 1);
  }
  record.text = "All is well.";
  record.stop = "eos";
  return record;
}

TEST(Symptoms, NothingIsFoundInAHealthyText) {
  EXPECT_TRUE(found_in(healthy()).empty());
  EXPECT_TRUE(found_in({}).empty());
}

TEST(Symptoms, EveryOneHasCausesWithAnExperiment) {
  for (const Symptom* symptom : symptoms()) {
    EXPECT_FALSE(symptom->hypotheses.empty()) << symptom->head.name;
    EXPECT_FALSE(symptom->needs.empty()) << symptom->head.name;
    for (const Hypothesis& hypothesis : symptom->hypotheses) EXPECT_FALSE(hypothesis.experiment.empty());
  }
}

TEST(Symptoms, EachIsFoundWhereItWasProvoked) {
  RunRecord loop = healthy();
  for (std::int32_t i = 0; i < 60; ++i) loop.tokens.push_back(i % 12);
  EXPECT_EQ(found_in(loop), (std::set<std::string_view>{"repeated_phrases"}));

  RunRecord open = healthy();
  for (double& surprise : open.log_probabilities) surprise = -11;
  EXPECT_TRUE(found_in(open).contains("incoherent"));

  RunRecord pushed = healthy();
  for (std::size_t i = 0; i < pushed.tokens.size(); ++i) pushed.tokens[i] = static_cast<std::int32_t>(i);
  for (std::size_t& rank : pushed.ranks) rank = 2;
  EXPECT_EQ(found_in(pushed), (std::set<std::string_view>{"strange_words"}));

  RunRecord cut = healthy();
  cut.stop = "limit";
  EXPECT_TRUE(found_in(cut).empty());
  cut.text = "And then the";
  EXPECT_EQ(found_in(cut), (std::set<std::string_view>{"truncated"}));
  cut.stop = "stop";
  cut.text = "```\nint main";
  EXPECT_EQ(found_in(cut), (std::set<std::string_view>{"truncated"}));

  RunRecord silent;
  silent.tokens = {2};
  silent.stop = "eos";
  EXPECT_EQ(found_in(silent), (std::set<std::string_view>{"disobedient"}));
  RunRecord talks = healthy();
  talks.text = "Hello<|im_start|>user";
  EXPECT_EQ(found_in(talks), (std::set<std::string_view>{"disobedient"}));

  RunRecord far = healthy(5000);
  for (std::size_t i = 4000; i < 5000; ++i) far.log_probabilities[i] = -1.4;
  EXPECT_TRUE(found_in(far).contains("context_loss"));

  RunRecord slow = healthy();
  slow.step_ms.assign(64, 10);
  EXPECT_TRUE(found_in(slow).empty());
  slow.expected_step_ms = 5;
  EXPECT_EQ(found_in(slow), (std::set<std::string_view>{"slow"}));
}

TEST(Symptoms, JsonThatIsNone) {
  RunRecord reply = healthy();
  reply.text = R"({"a": 1})";
  reply.reply_format = "json";
  EXPECT_TRUE(found_in(reply).empty());
  reply.text = R"({"a": 1,})";
  EXPECT_EQ(found_in(reply), (std::set<std::string_view>{"invalid_json"}));
  reply.text = "{as it were}";
  reply.reply_format = "";
  EXPECT_TRUE(found_in(reply).empty());
}

TEST(Symptoms, PagesThatAreFilledInABadOrder) {
  RunRecord page = healthy();
  page.page.mask = 0;
  page.end_token = 2;
  const auto state = [](std::int32_t first, std::int32_t rest) {
    std::vector<std::int32_t> cells(20, rest);
    std::fill_n(cells.begin(), 10, first);
    return cells;
  };
  page.page.states = {state(0, 0), state(2, 0), state(2, 0), state(2, 5), state(2, 5)};
  EXPECT_EQ(found_in(page), (std::set<std::string_view>{"end_overflow"}));
  page.page.states = {state(0, 0), state(7, 0), state(8, 5), state(7, 5), state(8, 5)};
  EXPECT_TRUE(found_in(page).contains("oscillation"));
  EXPECT_TRUE(found_in(page).contains("premature_commitment"));
}

// Runs of SmolLM2 under settings that provoke a symptom: every symptom that has a number is found where it was provoked
// and, in these, nowhere else.
TEST(Symptoms, TheLabelledRuns) {
  const std::string path = std::string(PLM_SHARED) + "/conformance/diagnosis/diagnosis_samples.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no labelled runs";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto records = read_run_records(text.str(), path);
  ASSERT_TRUE(records.has_value()) << records.error().message;
  ASSERT_EQ(records->size(), 104U);
  std::map<std::string, std::map<std::string_view, int>> found;
  std::map<std::string, int> all;
  file.clear();
  file.seekg(0);
  std::size_t index = 0;
  for (std::string line; std::getline(file, line); ++index) {
    const std::string label = parse_json(line, "line").value()["label"];
    ++all[label];
    const RunRecord& record = (*records)[index];
    for (const std::string_view name : found_in(record)) ++found[label][name];
    const bool has_loop = tail_loop(record.tokens, {}).has_value();
    if (has_loop) {
      EXPECT_TRUE(found_in(record).contains("repeated_phrases")) << record.name;
    }
  }
  EXPECT_EQ(found["penalty damage"]["strange_words"], all["penalty damage"]);
  EXPECT_EQ(found["incoherent"]["incoherent"], all["incoherent"]);
  EXPECT_EQ(found["no template"]["disobedient"], 4);  // those that end before they begin
  EXPECT_GE(found["loop-prone (EOS forbidden)"]["repeated_phrases"], 6);
  EXPECT_GE(found["loop-prone (greedy)"]["repeated_phrases"], 4);
  EXPECT_LE(found["healthy"]["repeated_phrases"], 1);  // one of them does repeat itself
  for (const auto& [label, names] : found) {
    if (label != "penalty damage") {
      EXPECT_FALSE(names.contains("strange_words")) << label;
    }
    if (label != "incoherent") {
      EXPECT_FALSE(names.contains("incoherent")) << label;
    }
    if (label != "no template") {
      EXPECT_FALSE(names.contains("disobedient")) << label;
    }
  }
}

}  // namespace
}  // namespace plm
