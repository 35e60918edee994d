// Strings as texts: spellings, lengths, patterns, formats.
#include "constraint/json_schema_string.h"

#include <gtest/gtest.h>

#include "constraint/json_schema_format.h"
#include "constraint/json_schema_text.h"
#include "constraint/schema_verdicts.h"

namespace plm {
namespace {

using testing::verdicts;

TEST(JsonSchemaString, SpellingsOfFreeStrings) {
  EXPECT_EQ(verdicts(R"({"type": "string"})",
                     {R"("\u0041")", R"("\ud83d\ude42")", R"("\ud83d")", "\"\n\"", R"("\x41")", R"("\/")", "\"\x7f\""}),
            "1100011");
  EXPECT_EQ(
      verdicts(R"({"type": "string", "maxLength": 1})", {R"("\ud83d\ude42")", "\"\U0001F642\"", "\"ab\"", R"("\n")"}),
      "1101");
}

TEST(JsonSchemaString, PatternsSearchTheValue) {
  EXPECT_EQ(verdicts(R"({"type": "string", "pattern": "b+"})", {"\"abc\"", "\"ac\"", "\"\\u0062\""}), "100");
  EXPECT_EQ(verdicts(R"({"type": "string", "pattern": "^\"\\\\\n$"})", {R"("\"\\\n")", R"("\"\\n")"}), "10");
  EXPECT_EQ(verdicts(R"({"type": "string", "pattern": "^.\\s$"})", {"\"a\xC2\xA0\"", "\"a \"", "\"aa\"", R"("\r ")"}),
            "1100");
  EXPECT_EQ(verdicts(R"({"type": "string", "not": {"pattern": "a"}, "minLength": 1})",
                     {"\"b\"", "\"\"", "\"ba\"", R"("\u0061")"}),
            "1000");
}

TEST(JsonSchemaString, ControlCharactersAreEscapedInEitherCase) {
  EXPECT_EQ(verdicts(R"({"const": "\u001f"})", {R"("\u001f")", R"("\u001F")"}), "10");
  EXPECT_EQ(
      verdicts(R"({"pattern": "^[\u0000-\u001f]$", "type": "string"})", {R"("\u001F")", R"("\t")", R"("\u0009")"}),
      "110");
}

struct FormatCase {
  const char* name;
  std::vector<std::string> right, wrong;
};

TEST(JsonSchemaString, Formats) {
  const std::vector<FormatCase> cases = {
      {"date",
       {"2024-02-29", "2000-02-29", "2026-12-31"},
       {"2023-02-29", "1900-02-29", "2026-04-31", "2026-1-1", "0000-01-01"}},
      {"time", {"10:00:00Z", "23:59:59.25+01:30"}, {"24:00:00Z", "10:00Z", "10:00:00"}},
      {"date-time", {"2026-11-29T10:00:00Z"}, {"2026-11-29 10:00:00Z", "2026-11-29"}},
      {"duration", {"P1Y2M3D", "PT5M", "P2W", "P1DT1H"}, {"P", "PT", "P1H", "P1Y2W", "1D"}},
      {"email", {"a@b.co", "first.last+tag@sub-domain.org"}, {"ab", ".a@b.co", "a@", "a b@c.de", "a@-b.de"}},
      {"hostname", {"a", "a-b.c", "a1b2.example"}, {"-a", "a-", "a..b", "a_b", "xn--a", std::string(64, 'a')}},
      {"ipv4", {"0.0.0.0", "255.255.255.255"}, {"256.0.0.1", "1.2.3", "01.2.3.4"}},
      {"ipv6",
       {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2::7:8", "1:2:3:4:5:6:7::"},
       {"1:2", ":::", "12345::", "1:2:3:4:5:6:7:8:9", "1::2::3", "1:2:3:4:5:6:7:8::"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000", "x"}},
      {"uri", {"s://e.org/a?b=c#d", "mailto:a@b.co", "urn:x:y"}, {"not a uri", "/path", "a b:c"}},
      {"uri-reference", {"/a/b", "a?x", "", "s://e"}, {"a b", "\\\\x"}},
      {"json-pointer", {"", "/a/b~0~1"}, {"a", "/~2"}},
      {"relative-json-pointer", {"0", "1/a", "2#"}, {"", "-1", "01"}}};
  for (const FormatCase& one : cases) {
    ASSERT_NE(string_format(one.name), nullptr);
    std::vector<std::string> texts;
    for (const auto& value : one.right) texts.push_back("\"" + value + "\"");
    for (const auto& value : one.wrong) texts.push_back("\"" + value + "\"");
    EXPECT_EQ(verdicts(fmt::format(R"({{"type": "string", "format": "{}"}})", one.name), texts),
              std::string(one.right.size(), '1') + std::string(one.wrong.size(), '0'))
        << one.name;
  }
}

}  // namespace
}  // namespace plm
