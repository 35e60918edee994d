#include "base/settings.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace plm {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "temperature", .aliases = "temp, T", .type = ParameterType::real, .standard = 0.8, .min = 0, .max = 100},
    {.name = "top_k", .type = ParameterType::integer, .standard = std::int64_t{40}, .min = -1},
    {.name = "echo", .type = ParameterType::boolean, .standard = false},
    {.name = "cache_type", .type = ParameterType::choice, .standard = std::string_view("f16"), .choices = "f32, f16"},
    {.name = "stop", .type = ParameterType::text},
    {.name = "scale", .type = ParameterType::real},
};

Settings fresh() { return Settings(kParameters); }

std::string text_error(std::string_view name, std::string_view text) {
  Settings settings = fresh();
  const auto set = settings.set_text(name, text);
  if (set) return "no error";
  EXPECT_EQ(set.error().kind, ErrorKind::usage);
  EXPECT_FALSE(settings.was_given(name)) << "a refused value must not stay";
  return set.error().message;
}

std::string json_error(std::string_view name, const Json& value) {
  Settings settings = fresh();
  const auto set = settings.set_json(name, value);
  return set ? "no error" : set.error().message;
}

TEST(Settings, DefaultsUntilGiven) {
  Settings settings = fresh();
  EXPECT_EQ(settings.real("temperature"), 0.8);
  EXPECT_EQ(settings.integer("top_k"), 40);
  EXPECT_FALSE(settings.boolean("echo"));
  EXPECT_EQ(settings.text("cache_type"), "f16");
  EXPECT_FALSE(settings.has("stop"));
  EXPECT_EQ(settings.text("stop"), "");
  EXPECT_FALSE(settings.was_given("temperature"));

  ASSERT_TRUE(settings.set_text("temperature", "0.8"));
  EXPECT_TRUE(settings.was_given("temperature"));
  ASSERT_TRUE(settings.set_text("stop", ""));
  EXPECT_TRUE(settings.has("stop"));
}

TEST(Settings, NamesAliasesAndDashes) {
  Settings settings = fresh();
  ASSERT_TRUE(settings.set_text("temp", "1"));
  ASSERT_TRUE(settings.set_text("top-k", "5"));
  ASSERT_TRUE(settings.set_text("T", "2"));
  EXPECT_EQ(settings.real("temperature"), 2.0);  // the later one counts
  EXPECT_EQ(settings.integer("top_k"), 5);
  EXPECT_TRUE(settings.was_given("temperature"));
  EXPECT_EQ(settings.find("t"), nullptr);
  EXPECT_EQ(text_error("bo\ngus", "1"), "bo\\ngus: unknown name");
  EXPECT_EQ(json_error("", 1), ": unknown name");
}

TEST(Settings, TextOfEveryType) {
  Settings settings = fresh();
  for (const char* text : {"true", "1", "on"}) {
    ASSERT_TRUE(settings.set_text("echo", text));
    EXPECT_TRUE(settings.boolean("echo"));
  }
  for (const char* text : {"false", "0", "off"}) {
    ASSERT_TRUE(settings.set_text("echo", text));
    EXPECT_FALSE(settings.boolean("echo"));
  }
  ASSERT_TRUE(settings.set_text("top_k", "+7"));
  EXPECT_EQ(settings.integer("top_k"), 7);
  ASSERT_TRUE(settings.set_text("scale", "-1.5e-3"));
  EXPECT_EQ(settings.real("scale"), -1.5e-3);
  ASSERT_TRUE(settings.set_text("cache_type", "f32"));
  EXPECT_EQ(settings.text("cache_type"), "f32");
}

TEST(Settings, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " 1", "1 ", "12abc", "0x10", "1.5", "++1", "+-1", "+", "-", "99999999999999999999"}) {
    EXPECT_EQ(text_error("top_k", text),
              fmt::format("top_k: found \"{}\", expected a whole number: at least -1", text));
  }
  for (const char* text : {"", "warm", "1,5", "1e", "+-1"}) {
    EXPECT_EQ(text_error("temperature", text),
              fmt::format("temperature: found \"{}\", expected a number: 0 to 100", text));
  }
  EXPECT_EQ(text_error("echo", "yes"), "echo: found \"yes\", expected true or false");
  EXPECT_EQ(text_error("cache_type", "f8"), "cache_type: found \"f8\", expected one of its choices: f32, f16");
}

TEST(Settings, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(text_error("temperature", "-0.5"), "temperature: -0.5 is out of range, allowed is 0 to 100");
  EXPECT_EQ(text_error("temperature", "inf"), "temperature: inf is out of range, allowed is 0 to 100");
  EXPECT_NE(text_error("temperature", "nan"), "no error");
  EXPECT_NE(text_error("scale", "nan"), "no error");
  EXPECT_EQ(text_error("top_k", "-2"), "top_k: -2 is out of range, allowed is at least -1");
}

TEST(Settings, JsonMustHaveTheType) {
  Settings settings = fresh();
  ASSERT_TRUE(settings.set_json("temperature", 2));
  EXPECT_EQ(settings.real("temperature"), 2.0);
  ASSERT_TRUE(settings.set_json("top_k", -1));
  EXPECT_EQ(settings.integer("top_k"), -1);
  ASSERT_TRUE(settings.set_json("echo", true));
  ASSERT_TRUE(settings.set_json("stop", "END"));
  ASSERT_TRUE(settings.set_json("cache_type", "f32"));

  for (const char* name : {"temperature", "top_k", "echo", "stop", "cache_type"}) {
    EXPECT_NE(json_error(name, nullptr), "no error") << name;
    EXPECT_NE(json_error(name, Json::array({1})), "no error") << name;
    EXPECT_NE(json_error(name, Json::object()), "no error") << name;
  }
  EXPECT_NE(json_error("temperature", "0.5"), "no error");
  EXPECT_NE(json_error("top_k", 1.0), "no error");
  EXPECT_NE(json_error("top_k", 18446744073709551615U), "no error");
  EXPECT_NE(json_error("echo", 1), "no error");
  EXPECT_NE(json_error("stop", 1), "no error");
  EXPECT_NE(json_error("cache_type", "q8"), "no error");
  EXPECT_EQ(json_error("temperature", 101), "temperature: 101 is out of range, allowed is 0 to 100");
}

TEST(Settings, JsonHoldsAllThatHasAValueInOrder) {
  Settings settings = fresh();
  ASSERT_TRUE(settings.set_text("stop", "END"));
  EXPECT_EQ(json_text(settings.as_json()),
            R"({"temperature":0.8,"top_k":40,"echo":false,"cache_type":"f16","stop":"END"})");
}

TEST(Settings, Lists) {
  EXPECT_EQ(split_list("a, b,c"), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_TRUE(split_list("").empty());
  EXPECT_TRUE(is_named("min-p", "min_p", ""));
  EXPECT_TRUE(is_named("nucleus", "top_p", "topp, nucleus"));
  EXPECT_FALSE(is_named("top", "top_p", "topp, nucleus"));
  EXPECT_FALSE(is_named("", "top_p", ""));
}

TEST(Settings, ValuesInWords) {
  EXPECT_EQ(value_text(Value{}), "");
  EXPECT_EQ(value_text(Value{true}), "true");
  EXPECT_EQ(value_text(Value{std::int64_t{-3}}), "-3");
  EXPECT_EQ(value_text(Value{0.05}), "0.05");
  EXPECT_EQ(value_text(Value{std::string_view("x")}), "x");
  EXPECT_EQ(allowed_text({.name = "x", .max = 3}), "at most 3");
  EXPECT_EQ(allowed_text({.name = "x"}), "");
}

TEST(SettingsDeathTest, ReadingAnUndeclaredNameIsABug) {
  EXPECT_DEATH((void)fresh().real("bogus"), "broken invariant");
  EXPECT_DEATH((void)fresh().integer("temperature"), "broken invariant");
}

}  // namespace
}  // namespace plm
