// The language as a whole against jinja2: src/text/jinja/evaluate.cpp, src/text/jinja/execute.cpp, the parser and all
// builtins. Goldens are written by tests/golden/text/make_jinja_golden.py: small cases (jinja_cases.txt), and whole
// chat templates in the manner of the well-known families, each over the same conversations.
#include <gtest/gtest.h>

#include "text/jinja/renderings.h"

namespace plm::jinja {
namespace {

// What the golden says of a rendering and what we made of it agree; both texts or both errors.
void expect_agrees(const Json& wanted, const Result<MarkedText>& made, const std::string& what) {
  if (wanted.contains("error")) {
    EXPECT_FALSE(made.has_value()) << what << "\njinja2: " << wanted["error"] << "\nours: " << made->text();
    return;
  }
  ASSERT_TRUE(made.has_value()) << what << "\n" << made.error().message;
  EXPECT_EQ(made->text(), wanted["text"].get<std::string>()) << what;
}

TEST(JinjaConformance, SmallCasesAreWhatJinjaMakesOfThem) {
  const Json all = golden("jinja_cases.json");
  EXPECT_GE(all["cases"].size(), 300U);
  for (const Json& wanted : all["cases"]) {
    const auto source = wanted["template"].get<std::string>();
    expect_agrees(wanted, rendering(source, all["variables"]), source);
  }
}

TEST(JinjaConformance, ChatTemplatesAreWhatJinjaMakesOfThem) {
  const Json wanted = golden("jinja_rendered.json");
  const Json given = golden("jinja_conversations.json");
  EXPECT_GE(wanted.size(), 40U);
  for (const auto& [name, results] : wanted.items()) {
    const std::string source = file_text(std::string(PLM_GOLDEN) + "/text/templates/" + name + ".jinja");
    const auto parsed = Template::parse(source, name);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    for (const auto& [title, conversation] : given["conversations"].items()) {
      Json variables = given["tokens"];
      variables.update(conversation);
      expect_agrees(results[title], parsed->render(variables, golden_options()), name + ", " + title);
    }
  }
}

// A template that raises an exception refuses with its own words, which are the caller's to read.
TEST(JinjaConformance, ChatTemplatesRefuseWithTheirOwnWords) {
  const Json wanted = golden("jinja_rendered.json");
  const Json given = golden("jinja_conversations.json");
  const std::string source = file_text(std::string(PLM_GOLDEN) + "/text/templates/gemma2.jinja");
  const auto result = rendering(source, given["conversations"]["system"]);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_NE(result.error().message.find(wanted["gemma2"]["system"]["error"].get<std::string>()), std::string::npos);
}

// The cases that public reports of other engines gave rise to.
TEST(JinjaConformance, ReportedCases) {
  std::ifstream cases(std::string(PLM_SHARED) + "/conformance/cases/cases.jsonl");
  if (!cases) GTEST_SKIP() << "no shared data";
  std::size_t count = 0;
  for (std::string line; std::getline(cases, line);) {
    const Json reported = parse_json(line, "cases.jsonl").value();
    if (reported["kind"] != "template" || !reported["input"].contains("template")) continue;
    ++count;
    Json variables = reported["input"];
    variables.erase("template");
    // Where a case gives a refusal, any conversation with a late system message shows it.
    if (!variables.contains("messages")) {
      variables["messages"] = Json::parse(R"([{"role": "user", "content": "hi"}, {"role": "system", "content": "x"}])");
    }
    const auto result = rendering(reported["input"]["template"].get<std::string>(), variables);
    expect_agrees(reported["right"], result, reported["title"].get<std::string>());
  }
  EXPECT_GE(count, 5U);
}

}  // namespace
}  // namespace plm::jinja
