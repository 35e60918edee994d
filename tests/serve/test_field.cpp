#include "serve/field.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

constexpr Field kFields[] = {
    {.name = "count", .aliases = "n, number", .type = FieldType::integer, .min = 0, .max = 10},
    {.name = "share", .type = FieldType::real, .min = 0, .max = 1},
    {.name = "flag", .type = FieldType::boolean},
    {.name = "word"},
    {.name = "words", .type = FieldType::texts},
    {.name = "label", .use = FieldUse::is_inert},
    {.name = "beams", .use = FieldUse::is_ignored, .neutral = "[1, \"off\"]"},
};
std::span<const Field> fields() { return kFields; }
constexpr FieldTable kTables[] = {fields};

std::string error_of(const Json& body) {
  const auto read = RequestFields::read(kTables, body);
  return read.has_value() ? "none" : read.error().message;
}

TEST(RequestFields, ReadsByTypeAndAlias) {
  const Json body = {{"number", 5.0},          {"share", 1}, {"flag", 1}, {"word", "a"}, {"words", "b"}, {"label", 3},
                     {"other", Json::array()}, {"beams", 1}};
  const auto read = RequestFields::read(kTables, body).value();
  EXPECT_EQ(read.integer("count"), 5);
  EXPECT_EQ(read.real("share"), 1);
  EXPECT_TRUE(read.boolean("flag"));
  EXPECT_EQ(read.text("word"), "a");
  EXPECT_EQ(read.texts("words"), std::vector<std::string>{"b"});
  ASSERT_EQ(read.undeclared().size(), 1U);
  EXPECT_EQ(read.undeclared()[0].name, "other");
  EXPECT_TRUE(read.ignored().empty()) << "1 is what beams are without it";
}

TEST(RequestFields, NullIsNoValue) {
  const Json body = {{"count", nullptr}, {"word", nullptr}, {"stranger", nullptr}};
  const auto read = RequestFields::read(kTables, body).value();
  EXPECT_FALSE(read.has("count"));
  EXPECT_EQ(read.text("word"), "");
  EXPECT_TRUE(read.undeclared().empty());
}

TEST(RequestFields, TheFirstNameOfSeveralCounts) {
  for (const Json& body : {Json{{"count", 1}, {"n", 2}, {"number", 3}}, Json{{"number", 3}, {"n", 2}, {"count", 1}}}) {
    EXPECT_EQ(RequestFields::read(kTables, body).value().integer("count"), 1);
  }
  const Json body = {{"number", 3}, {"n", 2}};
  EXPECT_EQ(RequestFields::read(kTables, body).value().integer("count"), 2);
}

TEST(RequestFields, NamesWhatIsWrong) {
  EXPECT_EQ(error_of({{"count", 11}}), "count: found 11, expected a whole number from 0 to 10");
  EXPECT_EQ(error_of({{"n", "1"}}), "n: found \"1\", expected a whole number from 0 to 10");
  EXPECT_EQ(error_of({{"count", 1.5}}), "count: found 1.5, expected a whole number from 0 to 10");
  EXPECT_EQ(error_of({{"count", 18446744073709551615U}}),
            "count: found 18446744073709551615, expected a whole number from 0 to 10");
  EXPECT_EQ(error_of({{"share", -0.5}}), "share: found -0.5, expected a number from 0 to 1");
  EXPECT_EQ(error_of({{"flag", "yes"}}), "flag: found \"yes\", expected true or false");
  EXPECT_EQ(error_of({{"words", {1}}}), "words: found [1], expected a text or an array of texts");
  EXPECT_EQ(error_of(Json::array()), "body: found [], expected a JSON object");
  EXPECT_EQ(error_of({{"beams", 4}}), "none");
}

TEST(RequestFields, SaysWhatHasNoEffect) {
  const Json body = {{"beams", 4}};
  EXPECT_EQ(RequestFields::read(kTables, body).value().ignored(), std::vector<std::string>{"beams"});
  const Json off = {{"beams", "off"}};
  EXPECT_TRUE(RequestFields::read(kTables, off).value().ignored().empty());
}

}  // namespace
}  // namespace plm
