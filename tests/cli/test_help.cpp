#include "cli/help.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plm {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

Result<int> do_nothing(Invocation& /*call*/) { return 0; }

constexpr Parameter kFlags[] = {
    {.name = "max_rows",
     .aliases = "rows, m",
     .summary = "rows at most",
     .type = ParameterType::integer,
     .standard = std::int64_t{7},
     .min = 1},
    {.name = "share", .summary = "of all", .type = ParameterType::real, .standard = 0.5},
    {.name = "colour",
     .summary = "what it is painted with",
     .type = ParameterType::choice,
     .standard = "red",
     .choices = "red, green"},
    {.name = "out", .summary = "where it goes", .type = ParameterType::text, .unit = "FILE"},
    {.name = "a_flag_with_a_name_that_is_long", .summary = "nothing", .type = ParameterType::boolean},
};
constexpr Argument kArguments[] = {{"THING", "what to paint"}, {"OTHER", "what else", false}};
constexpr Command command_paint = {
    .head = {.name = "paint", .summary = "paints things", .source = "here", .parameters = kFlags},
    .arguments = kArguments,
    .run = do_nothing,
};

TEST(Help, FlagsAreNamesWithDashes) {
  EXPECT_EQ(flag_name("max_tokens"), "--max-tokens");
  EXPECT_EQ(flag_placeholder(kFlags[0]), "N");
  EXPECT_EQ(flag_placeholder(kFlags[3]), "FILE");
  EXPECT_EQ(flag_placeholder(kFlags[4]), "");
}

TEST(Help, EveryCommandFitsItsWidthAndNamesItsFlags) {
  for (const Command* command : commands()) {
    const std::string text = command_help(*command);
    for (const std::string& line : lines_of(text)) {
      EXPECT_LE(line.size(), 80U) << command->head.name << ": " << line;
      EXPECT_FALSE(line.ends_with(' ')) << command->head.name << ": \"" << line << '"';
    }
    for (const Parameter& parameter : command_parameters(*command)) {
      EXPECT_NE(text.find(flag_name(parameter.name)), std::string::npos) << parameter.name;
    }
    EXPECT_NE(program_help().find(command->head.name), std::string::npos);
  }
}

TEST(Help, FlagsStandInTheirGroups) {
  const auto lines = lines_of(command_help(*find_command("run")));
  const auto line = [&](std::string_view start) {
    return std::find_if(lines.begin(), lines.end(), [&](const std::string& each) { return each.starts_with(start); });
  };
  EXPECT_LT(line("options"), line("  -p, --prompt TEXT "));
  EXPECT_LT(line("  -p, --prompt TEXT "), line("sampling"));
  EXPECT_LT(line("sampling"), line("      --top-k N "));
  EXPECT_LT(line("      --top-k N "), line("model and machine"));
  EXPECT_LT(line("model and machine"), line("  -t, --threads N "));
  EXPECT_LT(line("  -t, --threads N "), lines.end());
}

TEST(Help, SaysWhatTheDefinitionSays) {
  EXPECT_EQ(command_help(command_paint),
            "plm paint: paints things\n"
            "\n"
            "usage: plm paint THING [OTHER] [options]\n"
            "\n"
            "  THING                   what to paint\n"
            "  OTHER                   what else\n"
            "\n"
            "options\n"
            "  -m, --max-rows N        rows at most [default 7]\n"
            "      --share X           of all [default 0.5]\n"
            "      --colour NAME       what it is painted with [red, green; default red]\n"
            "      --out FILE          where it goes\n"
            "      --a-flag-with-a-name-that-is-long\n"
            "                          nothing\n");
}

}  // namespace
}  // namespace plm
