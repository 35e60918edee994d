#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "search/verifier.h"

namespace plm {
namespace {

SearchCandidate candidate_of(std::string text) {
  SearchCandidate candidate{.text = std::move(text), .finish = FinishReason::end_of_text};
  candidate.answer = answer_of(candidate.text, AnswerForm::text);
  return candidate;
}

double score(const std::string& verifier, const std::string& text) {
  return create_verifier(verifier).value()->judge(candidate_of(text)).value().score;
}

TEST(Verifiers, SayWhatIsRight) {
  EXPECT_EQ(score("numeric:42", "so it is 42.0"), 1);
  EXPECT_EQ(score("numeric:1,000", "1000"), 1);
  EXPECT_EQ(score("numeric:42", "43"), 0);
  EXPECT_EQ(score("exact:yes", " yes\n"), 1);
  EXPECT_EQ(score("exact:yes", "yes!"), 0);
  EXPECT_EQ(score("choice:B", "(B)"), 1);
  EXPECT_EQ(score("choice:B", "none"), 0);
  EXPECT_EQ(score("regex:^[a-z]+$", "abc"), 1);
  EXPECT_EQ(score("regex:^[a-z]+$", "abc1"), 0);
  EXPECT_EQ(score("json", "```json\n{\"a\": [1]}\n```"), 1);
  EXPECT_EQ(score("json", "{\"a\": }"), 0);
}

TEST(Verifiers, NamesAndArgumentsAreChecked) {
  for (const char* text : {"none", "", "numeric", "numeric:", "numeric:abc", "choice:AB", "choice:b", "json:x",
                           "self_certainty:1", "regex:(", "exact:"}) {
    const auto verifier = create_verifier(text);
    ASSERT_FALSE(verifier.has_value()) << text;
    EXPECT_EQ(verifier.error().kind, ErrorKind::usage) << text;
  }
  EXPECT_EQ(create_verifier("code:/no/such/file.py").error().kind, ErrorKind::bad_input);
}

TEST(Verifiers, AnExpressionThatTakesTooLongRejects) {
  const auto verdict = create_verifier("regex:^(a+)+$").value()->judge(candidate_of(std::string(40, 'a') + "b"));
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->score, 0);
}

TEST(Verifiers, CodeIsRunWithItsTests) {
  const auto tests = std::filesystem::temp_directory_path() / "plm-test-verifier-code.py";
  std::ofstream(tests) << "assert double(2) == 4\nassert double(0) == 0\n";
  const std::string name = "code:" + tests.string();
  const auto verifier = create_verifier(name).value();
  const auto verdict = verifier->judge(candidate_of("```python\ndef double(x):\n  return 2 * x\n```"));
  if (!verdict.has_value()) GTEST_SKIP() << verdict.error().message;  // no Landlock here
  EXPECT_EQ(verdict->score, 1);
  const auto wrong = verifier->judge(candidate_of("def double(x): return x")).value();
  EXPECT_EQ(wrong.score, 0);
  EXPECT_NE(wrong.note.find("AssertionError"), std::string::npos) << wrong.note;
  EXPECT_EQ(score(name, "not python"), 0);
  std::ofstream(tests) << "print('3/4')\n";
  EXPECT_EQ(score(name, "x = 1"), 0.75);
  std::filesystem::remove(tests);
}

TEST(Verifiers, CertaintyIsThatOfTheLeastCertainStretch) {
  SearchCandidate candidate = candidate_of("x");
  candidate.confidences = {1, 3};
  const auto verifier = create_verifier("self_certainty").value();
  EXPECT_EQ(verifier->judge(candidate)->score, 2);
  candidate.confidences.assign(64, 10);
  candidate.confidences.insert(candidate.confidences.end(), 64, 1);
  candidate.confidences.insert(candidate.confidences.end(), 64, 10);
  EXPECT_NEAR(verifier->judge(candidate)->score, 1, 1e-9);
  candidate.confidences.clear();
  EXPECT_EQ(verifier->judge(candidate)->score, 0);
}

// Each registered one, on an empty text and on one of strange bytes.
TEST(Verifiers, JudgeAnyText) {
  const std::map<std::string_view, std::string> arguments = {
      {"numeric", ":1"}, {"exact", ":x"}, {"choice", ":A"}, {"regex", ":x"}};
  for (const auto* definition : verifiers()) {
    if (definition->head.name == "code") continue;
    EXPECT_FALSE(definition->head.summary.empty());
    const auto found = arguments.find(definition->head.name);
    const std::string name = std::string(definition->head.name) + (found == arguments.end() ? "" : found->second);
    const auto verifier = create_verifier(name).value();
    for (const std::string& text : {std::string(), std::string("\0\x7f{[", 4), std::string(100'000, '[')}) {
      EXPECT_TRUE(verifier->judge(candidate_of(text)).has_value()) << name;
    }
  }
}

}  // namespace
}  // namespace plm
