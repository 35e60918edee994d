// Combinations of schemas against the semantics of the standard, value by value.
#include "constraint/json_schema_logic.h"

#include <gtest/gtest.h>

#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::refusal;
using testing::verdicts;

TEST(JsonSchemaLogic, NegationIsExact) {
  EXPECT_EQ(verdicts(R"({"not": {"type": "integer"}})", {"1", "-0", "1.0", "1.5", "\"1\"", "null", "[1]", "{}"}),
            "00011111");
  EXPECT_EQ(verdicts(R"({"type": "object", "not": {"properties": {"a": {"type": "integer"}}}})",
                     {"{}", R"({"a":1})", R"({"a":"x"})", R"({"b":1})", R"({"b":1,"a":null})"}),
            "00101");
  EXPECT_EQ(
      verdicts(R"({"type": "array", "not": {"items": {"type": "integer"}}})", {"[]", "[1]", "[1,\"a\"]", "[null]"}),
      "0011");
  EXPECT_EQ(verdicts(R"({"type": "object", "not": {"additionalProperties": {"type": "integer"}}})",
                     {"{}", R"({"a":1})", R"({"a":1,"b":"x","c":2})"}),
            "001");
  EXPECT_EQ(verdicts(R"({"type": "object", "not": {"propertyNames": {"maxLength": 2}}})",
                     {"{}", R"({"ab":1})", R"({"ab":1,"abc":2})"}),
            "001");
  EXPECT_EQ(verdicts(R"({"not": {"multipleOf": 0.5}, "type": "number"})", {"0.5", "1", "0.25", "-1.50", "-1.51"}),
            "00101");
  EXPECT_EQ(verdicts(R"({"not": {"const": {"a": [1]}}, "type": "object"})",
                     {R"({"a":[1]})", R"({"a":[1,1]})", R"({"a":[2]})", "{}", R"({"b":1})"}),
            "01111");
}

TEST(JsonSchemaLogic, OneOfOfOverlappingBranchesIsExact) {
  EXPECT_EQ(verdicts(R"({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]})", {"1", "2.5", "3", "1.5"}),
            "1100");
  EXPECT_EQ(verdicts(R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"})",
                     {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}),
            "0110");
}

TEST(JsonSchemaLogic, ConditionsAndDependencies) {
  const char* schema = R"({"type": "object", "properties": {"k": {"enum": ["a", "b"]}, "v": {}}, "required": ["k"],
    "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["v"]}, "else": {"not": {"required": ["v"]}}})";
  EXPECT_EQ(verdicts(schema, {R"({"k":"a"})", R"({"k":"a","v":1})", R"({"k":"b"})", R"({"k":"b","v":1})"}), "0110");
  EXPECT_EQ(verdicts(R"({"dependentSchemas": {"c": {"required": ["d"]}}, "type": "object"})",
                     {"{}", R"({"c":1})", R"({"c":1,"d":2})", R"({"d":2})"}),
            "1011");
}

TEST(JsonSchemaLogic, UnevaluatedMembersSeeTheBranchThatHolds) {
  const char* schema = R"({"type": "object", "anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
    {"properties": {"b": {"const": 2}}, "required": ["b"]}], "unevaluatedProperties": false})";
  EXPECT_EQ(verdicts(schema, {R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})", R"({"a":1,"b":3})", R"({"a":1,"c":1})"}),
            "11100");
}

TEST(JsonSchemaLogic, RefusesExplosionsQuickly) {
  std::string all = R"({"allOf": [)";
  for (int i = 0; i < 20; ++i)
    all += fmt::format(R"({}{{"anyOf": [{{"required": ["a{}"]}}, {{"required": ["b{}"]}}]}})", i == 0 ? "" : ",", i, i);
  const Error error = refusal(all + "]}");
  EXPECT_EQ(error.kind, ErrorKind::no_room);
  EXPECT_NE(error.message.find("anyOf"), std::string::npos) << error.message;
  EXPECT_EQ(refusal(R"({"type": "string", "minLength": 1000000, "pattern": "^a*$"})").kind, ErrorKind::no_room);
  EXPECT_EQ(refusal(R"({"multipleOf": 123457})").kind, ErrorKind::no_room);
}

TEST(JsonSchemaLogic, EnumsMeetTheirSiblings) {
  EXPECT_EQ(
      verdicts(R"({"enum": ["a", "bb", 1, 2.5, null, [1], {"k": 1}], "anyOf": [{"minLength": 2}, {"const": [1]}]})",
               {"\"a\"", "\"bb\"", "1", "2.5", "null", "[1]", "[ 1 ]", R"({"k":1})"}),
      "01111111");
  EXPECT_EQ(verdicts(R"({"enum": [1, 5, 7.5], "minimum": 2, "type": "integer"})", {"1", "5", "7.5", "5.0"}), "0100");
}

TEST(JsonSchemaLogic, UnevaluatedItemsKnowPrefixAndContains) {
  EXPECT_EQ(
      verdicts(
          R"({"type": "array", "prefixItems": [{}], "contains": {"const": 7}, "unevaluatedItems": {"type": "null"}})",
          {"[7]", "[1]", "[1,7]", "[1,7,null]", "[1,7,2]"}),
      "10110");
}

TEST(JsonSchemaLogic, ReferencesJoinTheirSiblings) {
  const char* schema =
      R"({"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}}},
    "$ref": "#/$defs/n", "required": ["v"], "properties": {"v": {"minimum": 3}}})";
  EXPECT_EQ(verdicts(schema, {"{}", R"({"v":3})", R"({"v":2})", R"({"next":{"v":1},"v":4})"}), "0101");
}

}  // namespace
}  // namespace plm
