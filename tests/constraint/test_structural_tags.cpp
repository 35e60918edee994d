#include "constraint/structural_tags.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "constraint/example_text.h"
#include "constraint/response_format.h"
#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::GrammarOracle;

Grammar finished(GrammarBuilder& builder, Part part) {
  const RuleId root = builder.declare("root");
  builder.define(root, part);
  return builder.finish(root).value();
}

Grammar tagged(const StructuralTags& tags) {
  GrammarBuilder builder;
  return finished(builder, structural_tags(builder, tags).value());
}

std::string verdicts_of(Grammar grammar, const std::vector<std::string>& texts) {
  GrammarOracle oracle(grammar);
  std::string result;
  for (const std::string& text : texts) result += oracle.accepts(text) ? '1' : '0';
  return result;
}

const StructuralTags kTwoTools{
    .tags = {{{.text = "<f=a>"},
              R"({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})",
              {.text = "</f>"}},
             {{.text = "<f=b>"}, "{\"const\": 1}", {.text = "</f>"}}},
    .triggers = {"<f="}};

TEST(StructuralTags, TextIsFreeUntilATrigger) {
  EXPECT_EQ(verdicts_of(tagged(kTwoTools), {"", "free < text", R"(so <f=a>{"x":1}</f> and <f=b>1</f>.)", "a <f=c>",
                                            "<f=b>2</f>", "<f=b>1", "<<f=b>1</f>", "</f>"}),
            "11100011");
}

TEST(StructuralTags, MayAskForOneAndStopThere) {
  StructuralTags tags = kTwoTools;
  tags.at_least_one = tags.stop_after_one = true;
  EXPECT_EQ(verdicts_of(tagged(tags), {"", "x", "x<f=b>1</f>", "x<f=b>1</f>x"}), "0010");
}

TEST(StructuralTags, ThinkingGoesBefore) {
  GrammarBuilder builder;
  const Part answer = builder.literal("42");
  Grammar open = finished(builder, after_thinking(builder, {.text = "</think>"}, answer));
  EXPECT_EQ(verdicts_of(std::move(open), {"</think>42", "well < </think>42", "42", "a</think>b</think>42"}), "1100");
  GrammarBuilder other;
  Grammar optional =
      finished(other, after_optional_thinking(other, {.text = "<think>"}, {.text = "</think>"}, other.literal("42")));
  EXPECT_EQ(verdicts_of(std::move(optional), {"42", "<think>hm</think>42", "hm</think>42"}), "110");
}

TEST(StructuralTags, SpecialTokensAreMarks) {
  GrammarBuilder builder;
  const StructuralTags tags{.tags = {{{.tokens = {7}}, "{\"const\": 1}", {.tokens = {8}}}}};
  Automaton automaton(finished(builder, structural_tags(builder, tags).value()));
  const StateId inside = automaton.step_token(automaton.step(automaton.start(), "free"), 7);
  const StateId done = automaton.step_token(automaton.step(inside, "1"), 8);
  EXPECT_TRUE(automaton.accepts(done));
  EXPECT_FALSE(automaton.accepts(inside));
  EXPECT_EQ(automaton.step(inside, "x"), StateId::dead);
}

TEST(StructuralTags, WrongOnesAreNamed) {
  GrammarBuilder builder;
  StructuralTags tags = kTwoTools;
  tags.triggers = {"<g"};
  EXPECT_NE(structural_tags(builder, tags).error().message.find("no trigger begins \"<f=a>\""), std::string::npos);
  EXPECT_FALSE(structural_tags(builder, {}).has_value());
  tags = kTwoTools;
  tags.tags[0].schema = R"({"format": "color"})";
  EXPECT_NE(structural_tags(builder, tags).error().message.find("tag \"<f=a>\": json schema: #: format"),
            std::string::npos);
}

TEST(ResponseFormat, KnowsTheTypesOfTheApi) {
  EXPECT_FALSE(response_format_grammar(Json::parse(R"({"type": "text"})")).value().has_value());
  EXPECT_EQ(verdicts_of(*response_format_grammar(Json::parse(R"({"type": "json_object"})")).value(),
                        {"{}", "[]", R"({"a":[1]})"}),
            "101");
  const Json schema = Json::parse(
      R"({"type": "json_schema", "json_schema": {"name": "n", "strict": true,
    "schema": {"maximum": 1.25, "type": "number"}}})");
  EXPECT_EQ(verdicts_of(*response_format_grammar(schema).value(), {"1.25", "1.26"}), "10");
  const Json tags = Json::parse(
      R"({"type": "structural_tag", 
    "structures": [{"begin": "<a>", "schema": {"const": 1}, "end": "</a>"}], "triggers": ["<a"]})");
  EXPECT_EQ(verdicts_of(*response_format_grammar(tags).value(), {"x<a>1</a>", "<a>2</a>"}), "10");
  for (const char* wrong :
       {R"({"type": "xml"})", "{}", "[]", R"({"type": "json_schema"})", R"({"type": "json_schema", "json_schema": {}})",
        R"({"type": "structural_tag", "structures": [{}]})"}) {
    EXPECT_EQ(response_format_grammar(Json::parse(wrong)).error().kind, ErrorKind::bad_input) << wrong;
  }
}

TEST(ExampleText, FitsItsGrammar) {
  const char* schema =
      R"({"type": "object", "properties": {"n": {"type": "number", "minimum": 3}, 
    "d": {"type": "string", "format": "date"},
    "l": {"type": "array", "items": {"enum": ["a", 1]}, "minItems": 2}},
     "required": ["n", "d", "l"], "additionalProperties": false})";
  Grammar judged = json_schema_grammar(schema).value();
  GrammarOracle oracle(judged);
  Automaton automaton(json_schema_grammar(schema).value());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = example_text(automaton, seed, 40).value();
    EXPECT_TRUE(oracle.accepts(text)) << text;
  }
}

}  // namespace
}  // namespace plm
