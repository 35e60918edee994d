// Objects and arrays as texts.
#include "constraint/json_schema_members.h"

#include <gtest/gtest.h>

#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::refusal;
using testing::verdicts;

TEST(JsonSchemaObject, CountsMatchesOfContains) {
  const char* schema = R"({"type": "array", "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3})";
  EXPECT_EQ(verdicts(schema, {"[]", "[1]", "[1,2]", "[\"a\",1,null,2]", "[1,2,3]", "[1,2,3,4]"}), "001110");
}

TEST(JsonSchemaObject, ObjectsCountTheirMembers) {
  const char* schema =
      R"({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1, "maxProperties": 2})";
  EXPECT_EQ(verdicts(schema, {"{}", R"({"a":1})", R"({"x":1,"b":2})", R"({"a":1,"b":2,"c":3})"}), "0110");
}

TEST(JsonSchemaObject, OrderIsThatOfTheSchemaOrFree) {
  const char* schema =
      R"({"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a"], "additionalProperties": false})";
  const std::vector<std::string> texts = {R"({"b":1,"a":2})", R"({"a":2,"b":1})", R"({"a":1})", R"({"a":1,"a":1})"};
  EXPECT_EQ(verdicts(schema, texts), "1010");
  EXPECT_EQ(verdicts(schema, texts, {.any_order = true}), "1110");
  EXPECT_EQ(verdicts(R"({"allOf": [{"properties": {"x": {}}}], "properties": {"y": {}}})",
                     {R"({"x":1,"y":1})", R"({"y":1,"x":1})"}),
            "10");
}

TEST(JsonSchemaObject, OtherNamesStandAnywhereButAreNotTheDeclaredOnes) {
  const char* schema = R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["b"]})";
  EXPECT_EQ(verdicts(schema, {R"({"x":0,"a":1,"y":0,"b":2,"z":0})", R"({"b":2,"x":[]})", R"({"b":2,"a":1})",
                              R"({"b":2,"\u0061":5})", R"({"x":1})"}),
            "11000");
}

TEST(JsonSchemaObject, PatternsThatOverlapBothHold) {
  const char* schema = R"({"type": "object", "patternProperties": {"^a": {"minimum": 2}, "b$": {"maximum": 4}},
    "additionalProperties": false})";
  EXPECT_EQ(verdicts(schema, {R"({"ab":3})", R"({"ab":1})", R"({"ab":5})", R"({"a":5})", R"({"b":1})", R"({"c":1})"}),
            "100110");
}

TEST(JsonSchemaObject, NamesFromAListAreUnique) {
  const char* schema = R"({"type": "object", "propertyNames": {"enum": ["x", "y"]}, "minProperties": 2})";
  EXPECT_EQ(verdicts(schema, {R"({"x":1,"y":1})", R"({"x":1,"x":1})", R"({"x":1})", R"({"x":1,"z":1})"}), "1000");
}

TEST(JsonSchemaObject, UniqueItemsRemembersValues) {
  const char* schema =
      R"({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3},
    "uniqueItems": true, "minItems": 2})";
  EXPECT_EQ(verdicts(schema, {"[0,1]", "[0,-0]", "[3,1,2,0]", "[1]", "[1,2,1]"}), "10100");
}

TEST(JsonSchemaObject, PrefixesOfArraysMayEndEarly) {
  const char* schema =
      R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}],
    "items": {"const": 3}, "minItems": 1, "maxItems": 4})";
  EXPECT_EQ(verdicts(schema, {"[]", "[1]", "[1,2]", "[1,2,3,3]", "[1,2,3,3,3]", "[1,3]"}), "011100");
}

}  // namespace
}  // namespace plm
