#include "format/config_reader.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plm {
namespace {

ConfigReader reader(std::string_view text) { return ConfigReader::parse(text, "m/config.json").value(); }

template <typename T>
std::string refusal(const Result<T>& result) {
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  return result.error().message;
}

TEST(ConfigReader, ReadsEveryKindOfValue) {
  const ConfigReader config =
      reader(R"({"n": 7, "x": 2, "y": 1e-5, "t": "a", "b": true, "none": null, "ids": [1, 2], "names": ["p", "q"]})");
  EXPECT_EQ(config.integer("n", {}).value(), 7U);
  EXPECT_EQ(config.positive_real("x", 10).value(), 2.0) << "a whole number is a number";
  EXPECT_EQ(config.positive_real("y", 10).value(), 1e-5);
  EXPECT_EQ(config.text("t").value(), "a");
  EXPECT_TRUE(config.boolean_or("b", false).value());
  EXPECT_EQ(config.integers_or_none("ids", {}).value(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(config.integers_or_none("n", {}).value(), (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(config.texts_or_none("names").value(), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(config.reals_or_none("ids").value(), (std::vector<double>{1, 2}));
  EXPECT_TRUE(config.reals_or_none("no").value().empty());
  EXPECT_FALSE(config.has("none")) << "null is Python's way to say that it is not set";
}

// Python writes it, JSON has no such number.
TEST(ConfigReader, InfinityIsANumberThatIsNotThere) {
  const ConfigReader config =
      reader(R"({"limits": [0.5, Infinity], "most": Infinity, "Infinity": "Infinity \"Infinity", "t": "\\"})");
  EXPECT_EQ(config.reals_or_none("limits").value(), (std::vector<double>{0.5, HUGE_VAL}));
  EXPECT_FALSE(config.has("most"));
  EXPECT_EQ(config.text("Infinity").value(), "Infinity \"Infinity");
  EXPECT_EQ(config.text("t").value(), "\\");
  EXPECT_NE(refusal(ConfigReader::parse("{\"x\": InfinityInfinity}", "c")), "accepted");
  EXPECT_NE(refusal(ConfigReader::parse("{\"x\": -Infinity}", "c")), "accepted");
}

TEST(ConfigReader, WhatIsMissingHasADefaultOrIsAnError) {
  const ConfigReader config = reader("{\"none\": null}");
  EXPECT_EQ(config.integer_or("none", 5, {}).value(), 5U);
  EXPECT_EQ(config.positive_real_or("x", 0.5, 1).value(), 0.5);
  EXPECT_EQ(config.text_or("x", "y").value(), "y");
  EXPECT_TRUE(config.boolean_or("x", true).value());
  EXPECT_TRUE(config.integers_or_none("x", {}).value().empty());
  EXPECT_FALSE(config.section("x").value().has_value());
  EXPECT_EQ(refusal(config.integer("n", {1, 9})), "m/config.json: n is missing, expected an integer between 1 and 9");
}

TEST(ConfigReader, NamesWhatItRefuses) {
  const ConfigReader config = reader(R"({"n": -1, "big": 9223372036854775808, "s": "2", "x": 0, "list": [1, "a"]})");
  EXPECT_EQ(refusal(config.integer("n", {0, 9})), "m/config.json: n = -1: must be an integer between 0 and 9");
  EXPECT_EQ(refusal(config.integer("big", {0, 9})),
            "m/config.json: big = 9223372036854775808: must be an integer between 0 and 9");
  EXPECT_EQ(refusal(config.integer_or("s", 1, {0, 9})), "m/config.json: s = \"2\": must be an integer between 0 and 9");
  EXPECT_EQ(refusal(config.positive_real("x", 1)), "m/config.json: x = 0: must be above 0 and at most 1");
  EXPECT_EQ(refusal(config.text("n")), "m/config.json: n = -1: must be a string");
  EXPECT_EQ(refusal(config.boolean_or("n", true)), "m/config.json: n = -1: must be true or false");
  EXPECT_NE(refusal(config.integers_or_none("list", {})), "accepted");
  EXPECT_NE(refusal(config.texts_or_none("list")), "accepted");
  EXPECT_NE(refusal(config.reals_or_none("list")), "accepted");
  EXPECT_NE(refusal(config.reals_or_none("n")), "accepted");
  EXPECT_EQ(refusal(config.section("n")), "m/config.json: n = -1: must be an object");
}

TEST(ConfigReader, SectionsNameTheirPlace) {
  const auto section = reader(R"({"a": {"b": {"n": 0}}})").section("a").value()->section("b").value();
  EXPECT_EQ(refusal(section->integer("n", {1, 2})), "m/config.json: a.b.n = 0: must be an integer between 1 and 2");
}

TEST(ConfigReader, ListsOfObjects) {
  const auto items = ConfigReader::parse_list(R"([{"n": 1}, {"n": 0}])", "m/modules.json").value();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(refusal(items[1].integer("n", {1, 2})), "m/modules.json: [1].n = 0: must be an integer between 1 and 2");
  EXPECT_NE(refusal(ConfigReader::parse_list("{}", "m")), "accepted");
  EXPECT_NE(refusal(ConfigReader::parse_list("[1]", "m")), "accepted");
}

TEST(ConfigReader, RefusesWhatIsNoObject) {
  EXPECT_EQ(refusal(ConfigReader::parse("[]", "c")), "c: holds array, expected a JSON object");
  for (const std::string& text :
       {std::string("{\"a\": 1"), std::string("\xEF\xBB\xBF{}"), std::string("{\"a\":1,\"a\":2}"),
        "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}"}) {
    EXPECT_NE(refusal(ConfigReader::parse(text, "c")), "accepted") << text.substr(0, 20);
  }
  EXPECT_NE(refusal(ConfigReader::parse("{\"eps\": NaN}", "c")).find("after key \"eps\""), std::string::npos);
}

}  // namespace
}  // namespace plm
