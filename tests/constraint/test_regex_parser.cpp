#include "constraint/regex_parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace plm {
namespace {

bool matches(std::string_view expression, std::string_view text, const RegexOptions& options = {}) {
  RegularStore store;
  const auto language = parse_regex(store, expression, options);
  EXPECT_TRUE(language.has_value()) << expression << ": " << language.error().message;
  return language && store.matches(*language, text);
}

std::string refusal(std::string_view expression) {
  RegularStore store;
  const auto language = parse_regex(store, expression);
  return language ? "" : language.error().message;
}

TEST(RegexParser, Conformance) {
  const std::filesystem::path path = std::filesystem::path(PLM_SHARED) / "conformance/constraint/regex.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::ifstream file(path);
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const auto json = nlohmann::json::parse(line);
    const auto expression = json["regex"].get<std::string>();
    SCOPED_TRACE(json["id"].get<std::string>());
    if (json["status"] == "error") {
      const std::string message = refusal(expression);
      EXPECT_NE(message, "");
      EXPECT_EQ(message.find("not supported") != std::string::npos, json["error_kind"] == "unsupported") << message;
      continue;
    }
    for (const auto& text : json["accept"]) EXPECT_TRUE(matches(expression, text.get<std::string>())) << text;
    for (const auto& text : json["reject"]) EXPECT_FALSE(matches(expression, text.get<std::string>())) << text;
  }
  EXPECT_EQ(cases, 62);
}

TEST(RegexParser, SearchFindsAnywhereUnlessAnchored) {
  const RegexOptions search{.search = true};
  EXPECT_TRUE(matches("b+", "abc", search));
  EXPECT_TRUE(matches("b+", "a\nb", search));
  EXPECT_FALSE(matches("b+", "ac", search));
  EXPECT_TRUE(matches("^b", "bc", search));
  EXPECT_FALSE(matches("^b", "ab", search));
  EXPECT_TRUE(matches("b$", "ab", search));
  EXPECT_FALSE(matches("b$", "ba", search));
  EXPECT_TRUE(matches("^a|b$", "xb", search));
  EXPECT_TRUE(matches("^a|b$", "ax", search));
  EXPECT_FALSE(matches("^a|b$", "xax", search));
  EXPECT_TRUE(matches("(^a$)|(^b$)", "b", search));
  EXPECT_FALSE(matches("(^a$)|(^b$)", "ab", search));
  EXPECT_TRUE(matches("(^|,)x(,|$)", "x", search));
  EXPECT_TRUE(matches("(^|,)x(,|$)", "a,x,b", search));
  EXPECT_FALSE(matches("(^|,)x(,|$)", "ax,b", search));
  EXPECT_TRUE(matches("", "anything", search));
  EXPECT_TRUE(matches("^$", "", search));
  EXPECT_FALSE(matches("^$", "a", search));
  EXPECT_TRUE(matches("a?^b", "b", search));
}

TEST(RegexParser, EscapesAndFlags) {
  EXPECT_TRUE(matches(R"(\u{1F600}\uD83D\uDE00\cJ\0)", std::string("\U0001F600\U0001F600\n\0", 10)));
  EXPECT_TRUE(matches(R"(\p{Lu}\P{L}\p{gc=Nd})", "A-7"));
  EXPECT_FALSE(matches(R"(\p{Lu})", "a"));
  EXPECT_TRUE(matches("(?i)straSSe[x-z]", "STRAsseY"));
  EXPECT_FALSE(matches("(?i)[^a]", "A"));
  EXPECT_TRUE(matches("(?s)a.b", "a\nb"));
  EXPECT_TRUE(matches("(?<year>[0-9]{4})", "2026"));
  EXPECT_TRUE(matches("{a}]", "{a}]"));
  EXPECT_TRUE(matches(R"([\b\]\-x])", "\b"));
  EXPECT_TRUE(matches(R"([\w-])", "-"));
  EXPECT_TRUE(matches(R"([\w-.])", "."));
}

TEST(RegexParser, RefusalsNameThePlace) {
  EXPECT_NE(refusal("ab\n(c").find("line 2, column 1"), std::string::npos);
  EXPECT_NE(refusal("\u65e5*+").find("line 1, column 3"), std::string::npos);
  for (const char* wrong : {"[]", "a**", "{2}", "x{2,1}", "\\", "(?<n", "(?", "[\\d-a-", "\\u12", "\\q", "[a-\\d]",
                            "(^a)*", "\\uD800", "\\p{Foo}", "\\p", "a{1000001}", "\\k<a>", "(?x)a"}) {
    EXPECT_NE(refusal(wrong), "") << wrong;
  }
  EXPECT_NE(refusal(std::string(300, '(') + std::string(300, ')')).find("256"), std::string::npos);
  EXPECT_NE(refusal("a{2000000}").find("1000000"), std::string::npos);
}

TEST(RegexParser, CharactersMayBeSpelledOtherwise) {
  const RegexOptions options{.search = false, .spelling = [](RegularStore& store, const CodePoints& set) {
                               const Regular plain = store.characters(set);
                               return set.contains('"') ? store.alternate({plain, store.literal("\\\"")}) : plain;
                             }};
  EXPECT_TRUE(matches("a\"", "a\\\"", options));
}

}  // namespace
}  // namespace plm
