#include "base/json.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

std::string error_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = parse_json(text, "body", limits);
  if (parsed) return "no error";
  EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  return parsed.error().message;
}

TEST(Json, ParsesAndKeepsTheOrderOfKeys) {
  const auto parsed = parse_json(R"({"b": [1, 2.5, "x", null, true], "a": {"b": 1}})", "body");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(json_text(*parsed), R"({"b":[1,2.5,"x",null,true],"a":{"b":1}})");
  EXPECT_EQ(json_text(Json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(Json, ErrorsNameTheObject) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":}", "nul", "NaN", "1 2", "{'a':1}", "\"\\ud800\"", "01",
                           "1e999", "\"\xFF\"", "\"\xC3\"", "\"a\nb\"", "[1] x", "// c\n1", "\xEF\xBB\xBF{}"}) {
    EXPECT_TRUE(error_of(text).starts_with("body: not valid JSON: ")) << text << ": " << error_of(text);
  }
}

TEST(Json, ErrorsNameTheKeyBeforeThem) {
  EXPECT_TRUE(error_of(R"({"n": {"a": 1}, "eps": NaN})").ends_with("; after key \"eps\""));
  EXPECT_EQ(error_of("[NaN]").find("after key"), std::string::npos);
}

TEST(Json, ErrorsAreOneHarmlessLine) {
  const std::string message = error_of("{\"a\": \x1B[31m\n\n oops");
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1B'), std::string::npos);
}

TEST(Json, RefusesAKeyGivenTwice) {
  EXPECT_EQ(error_of(R"({"a":1,"b":{"a":2},"a":3})"), "body: key \"a\" given twice in one object");
  EXPECT_NE(error_of(R"([{"x":{"k":1,"k":1}}])").find("\"k\" given twice"), std::string::npos);
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":1},{"b":{"a":1},"a":{}}])", "body"));
}

TEST(Json, LimitsTheDepth) {
  const JsonLimits limits{.depth = 3};
  EXPECT_TRUE(parse_json("[[[1]]]", "body", limits));
  EXPECT_EQ(error_of("[[[[1]]]]", limits), "body: JSON nested deeper than 3 levels");
  EXPECT_TRUE(parse_json(R"(["[[[[[[", "\"[[[[[", "\\"])", "body", limits));  // brackets in strings
  EXPECT_TRUE(parse_json("[[[1]],[[2]],{\"a\":{}}]", "body", limits));
  EXPECT_EQ(error_of(std::string(2'000'000, '[')), "body: JSON nested deeper than 128 levels");
  EXPECT_FALSE(parse_json(std::string(100, '['), "body"));
  EXPECT_FALSE(parse_json("]]]]", "body"));
}

TEST(Json, LimitsTheSizeAndTheKeys) {
  EXPECT_EQ(error_of("[1,2,3]", {.bytes = 6}), "body: 7 bytes of JSON, at most 6 are read");
  EXPECT_TRUE(parse_json(R"({"a":1,"b":2})", "body", {.keys = 2}));
  EXPECT_EQ(error_of(R"({"a":1,"b":2,"c":3})", {.keys = 2}), "body: an object with more than 2 keys");
}

TEST(Json, WritesIllFormedTextAsReplacement) {
  EXPECT_EQ(json_text(Json("a\xFFz")), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_text(Json("\x1B\n")), R"("\u001b\n")");
}

}  // namespace
}  // namespace plm
