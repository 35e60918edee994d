// Reading schemas: the text, references, dialects, the form of keywords.
#include "constraint/json_schema_document.h"

#include <gtest/gtest.h>

#include "constraint/json_schema_reader.h"
#include "constraint/json_schema_uri.h"
#include "constraint/json_schema_value.h"
#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::refusal;
using testing::verdicts;

TEST(JsonSchemaDocument, KeepsDigitsAndOrder) {
  const auto value =
      read_schema_value(R"({"z": 1.10, "a": 12345678901234567890123, "m": [true, null]})", "x", 1000, 10).value();
  EXPECT_EQ(value->keys, (std::vector<std::string>{"z", "a", "m"}));
  EXPECT_EQ(value->items[0].text, "1.10");
  EXPECT_EQ(value->items[1].text, "12345678901234567890123");
  EXPECT_FALSE(read_schema_value(R"({"a": 1, "a": 2})", "x", 1000, 10).has_value());
  EXPECT_FALSE(read_schema_value("[[[[1]]]]", "x", 1000, 3).has_value());
  EXPECT_FALSE(read_schema_value("[1,]", "x", 1000, 3).has_value());
}

TEST(JsonSchemaDocument, ValuesAreComparedAsJson) {
  const auto same = [](const char* a, const char* b) {
    return same_value(*read_schema_value(a, "a", 1000, 10).value(), *read_schema_value(b, "b", 1000, 10).value());
  };
  EXPECT_TRUE(same(R"({"a": 1, "b": [1.0]})", R"({"b": [1], "a": 1e0})"));
  EXPECT_FALSE(same("0", "false"));
  EXPECT_FALSE(same("[1, 2]", "[2, 1]"));
}

TEST(JsonSchemaDocument, JoinsReferencesAsRfc3986) {  // examples of its section 5.4
  const std::string base = "s://a/b/c/d;p?q";
  EXPECT_EQ(join_uri(base, "g").absolute, "s://a/b/c/g");
  EXPECT_EQ(join_uri(base, "../../g").absolute, "s://a/g");
  EXPECT_EQ(join_uri(base, "/g").absolute, "s://a/g");
  EXPECT_EQ(join_uri(base, "//g").absolute, "s://g");
  EXPECT_EQ(join_uri(base, "?y").absolute, "s://a/b/c/d;p?y");
  EXPECT_EQ(join_uri(base, "#s%25").fragment, "s%");
  EXPECT_EQ(join_uri(base, "./").absolute, "s://a/b/c/");
  EXPECT_EQ(pointer_unescaped("a~1b~01"), "a/b~1");
  EXPECT_EQ(pointer_escaped("a/b~1"), "a~1b~01");
}

TEST(JsonSchemaDocument, FindsAnchorsAndNestedIdentifiers) {
  EXPECT_EQ(verdicts(
                R"({"$id": "root.json", 
    "$defs": {"a": {"$id": "sub/a.json", "$defs": {"b": {"$anchor": "x", "type": "null"}}}},
    "anyOf": [{"$ref": "sub/a.json#x"}, {"$ref": "root.json#/$defs/a/$defs/b"}]})",
                {"null", "1"}),
            "10");
  EXPECT_EQ(verdicts(R"({"properties": {"a~/%": {"type": "null"}},
    
    "items": {"$ref": "#/properties/a~0~1%25"}})",
                     {"[null]", "[1]"}),
            "10");
  // A name inside of a constant is no identifier.
  EXPECT_EQ(refusal(R"({"enum": [{"$anchor": "x"}], "$ref": "#x"})").kind, ErrorKind::bad_input);
}

TEST(JsonSchemaDocument, DialectsDiffer) {
  const std::string draft_07 =
      "http"
      "://json-schema.org/draft-07/schema#";
  EXPECT_EQ(
      verdicts(
          R"({"$schema": ")" + draft_07 +
              R"(", "definitions": {"s": {"type": "string"}}, "items": {"$ref": "#/definitions/s", "maxLength": 1}})",
          {R"(["long"])", "[1]"}),
      "10");
  EXPECT_EQ(verdicts(R"({"items": [{"type": "null"}], "additionalItems": false})", {"[null]", "[null,1]", "[1]"}),
            "100");
  const std::string draft_2020 =
      "https"
      "://json-schema.org/draft/2020-12/schema";
  EXPECT_NE(refusal(R"({"$schema": ")" + draft_2020 + R"(", "items": [{}]})").message.find("prefixItems"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"$schema": "urn:mine"})").message.find("unknown dialect"), std::string::npos);
}

TEST(JsonSchemaDocument, WrongFormsAreNamed) {
  for (const char* wrong :
       {R"({"type": "int"})", R"({"minLength": -1})", R"({"minLength": 1.5})", R"({"required": "a"})",
        R"({"properties": []})", R"({"anyOf": []})", R"({"pattern": 1})", R"({"multipleOf": 0})", R"({"enum": 1})",
        R"({"items": 3})", R"({"$ref": 1})", "[]", "1", "{"}) {
    EXPECT_EQ(refusal(wrong).kind, ErrorKind::bad_input) << wrong;
  }
}

}  // namespace
}  // namespace plm
