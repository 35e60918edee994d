// JSON Schema to grammars: the conformance data, and what users meet beyond it. Texts are judged by the slow oracle.
#include "constraint/json_schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "constraint/grammar_oracle.h"
#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::GrammarOracle;
using testing::refusal;
using testing::verdicts;

std::string dialect_uri(const std::string& name) {
  return name == "draft-07" ? "http"
                              "://json-schema.org/draft-07/schema#"
                            : "https"
                              "://json-schema.org/draft/" +
                                  name + "/schema";
}

TEST(JsonSchema, ConformanceData) {
  const std::filesystem::path path = std::filesystem::path(PLM_SHARED) / "conformance/constraint/jsonschema.jsonl";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is absent";
  int cases = 0, refused = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const Json row = Json::parse(line);
    const bool is_text = row["group"] == "text";
    Json schema = row["schema"];
    if (schema.is_object()) schema["$schema"] = dialect_uri(row["dialect"]);
    const std::string text = is_text ? row["text"].get<std::string>() : json_text(row["instance"]);
    const bool wanted = row[is_text ? "engine_accepts" : "valid"].get<bool>();
    auto grammar = json_schema_grammar(json_text(schema));
    if (!grammar.has_value()) {
      const bool empty = grammar.error().kind == ErrorKind::unsatisfiable && !wanted;
      const bool allowed = row.value("policy", "") == "unsupported";
      EXPECT_TRUE(empty || allowed) << row["id"] << ": " << grammar.error().message;
      refused += empty ? 0 : 1;
      continue;
    }
    EXPECT_EQ(GrammarOracle(*grammar).accepts(text), wanted) << row["id"] << " " << schema << " " << text;
  }
  EXPECT_EQ(cases, 727);
  EXPECT_LE(refused, 2);  // uniqueItems over endless elements
}

TEST(JsonSchema, FormatsAndNumbersTogether) {
  EXPECT_EQ(verdicts(R"({"type": "integer", "format": "int32"})", {"2147483647", "2147483648", "-2147483648"}), "101");
  EXPECT_EQ(verdicts(R"({"type": "number", "exclusiveMinimum": 0})", {"1e5", "-1e5", "0.0", "0.1E-3", "0e9"}), "10010");
  EXPECT_EQ(verdicts(R"({"maximum": 18446744073709551616})", {"18446744073709551616", "18446744073709551617"}), "10");
  EXPECT_EQ(verdicts(R"({"minimum": 0.1, "maximum": 0.3})", {"0.1", "0.10", "0.0999", "0.3000", "0.30001"}), "11010");
}

TEST(JsonSchema, WhiteSpacePolicies) {
  const char* schema = R"({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}})";
  const std::vector<std::string> texts = {R"([{"a":1}])", R"([{"a": 1}, {}])", R"([ { "a" : 1 } ])", "[\n  {}\n]",
                                          "[  ]"};
  EXPECT_EQ(verdicts(schema, texts, {.space = JsonSpace::compact}), "10000");
  EXPECT_EQ(verdicts(schema, texts, {.space = JsonSpace::spaced}), "01000");
  EXPECT_EQ(verdicts(schema, texts, {.space = JsonSpace::bounded}), "11110");
  EXPECT_EQ(verdicts(schema, texts, {.space = JsonSpace::any}), "11111");
}

TEST(JsonSchema, RefusesByNameAndPlace) {
  const Error unique = refusal(R"({"properties": {"a/b": {"type": "array", "uniqueItems": true}}})");
  EXPECT_EQ(unique.kind, ErrorKind::bad_input);
  EXPECT_NE(unique.message.find("#/properties/a~1b: uniqueItems: "), std::string::npos) << unique.message;
  EXPECT_NE(refusal(R"({"format": "idn-email"})").message.find("#: format: "), std::string::npos);
  EXPECT_NE(refusal(R"x({"items": {"pattern": "(?=a)"}})x").message.find("#/items: pattern: "), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref": "other.json"})").message.find("#: $ref: "), std::string::npos);
  EXPECT_NE(refusal(R"({"nullable": true})").message.find("#: nullable: "), std::string::npos);
  EXPECT_NE(refusal(R"({"minimum": "1"})").message.find("#: minimum: "), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref": "#"})").message.find("leads back to itself"), std::string::npos);
}

TEST(JsonSchema, ReportsWhatNoValueFits) {
  EXPECT_EQ(refusal("false").kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(refusal(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})").kind,
            ErrorKind::unsatisfiable);
  EXPECT_EQ(refusal(R"({"type": "string", "minLength": 3, "pattern": "^a?$"})").kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(refusal(R"({"minimum": 1, "exclusiveMaximum": 2, "multipleOf": 3, "type": "number"})").kind,
            ErrorKind::unsatisfiable);
}

TEST(JsonSchema, LenientlyLeavesOutAndLists) {
  JsonSchemaReport report;
  const auto grammar =
      json_schema_grammar(R"({"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "maxItems": 2})",
                          {.lenient = true}, &report);
  ASSERT_TRUE(grammar.has_value());
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].pointer + " " + report.refused[0].keyword, "# uniqueItems");
  EXPECT_EQ(report.enforced.size(), 4U);
  EXPECT_EQ(
      verdicts(R"({"type": "array", "uniqueItems": true, "maxItems": 2})", {"[1,1]", "[1,2,3]"}, {.lenient = true}),
      "10");
}

TEST(JsonSchema, UnknownKeywordsAreWarnedOf) {
  JsonSchemaReport report;
  ASSERT_TRUE(json_schema_grammar(R"({"type": "integer", "maxlength": 3, "title": "t"})", {}, &report).has_value());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings[0].keyword, "maxlength");
}

TEST(JsonSchema, LargeButPlainSchemasAreFine) {
  std::string values;
  for (int i = 0; i < 5000; ++i) values += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i);
  EXPECT_EQ(verdicts(fmt::format(R"({{"enum": [{}]}})", values), {"\"v4999\"", "\"v5000\""}), "10");
  EXPECT_EQ(verdicts(R"({"type": "string", "minLength": 1000000})", {"\"abc\""}), "0");
  EXPECT_EQ(verdicts(R"({"type": "string", "maxLength": 1000000})", {"\"abc\""}), "1");
  std::string tools;
  for (int i = 0; i < 100; ++i) {
    tools +=
        fmt::format(R"({}{{"type": "object", "properties": {{"name": {{"const": "t{}"}}}}, "required": ["name"]}})",
                    i == 0 ? "" : ",", i);
  }
  EXPECT_EQ(verdicts(fmt::format(R"({{"oneOf": [{}]}})", tools), {R"({"name":"t99"})", R"({"name":"t100"})"}), "10");
}

}  // namespace
}  // namespace plm
