// src/cli/command_line.cpp and command.cpp: words to flags and back to a sentence when they are wrong.
#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

ParsedCommand parsed(std::string_view command, const std::vector<std::string>& words) {
  auto result = parse_command(*find_command(command), words);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(ParsedCommand{});
}

Flags flags(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"model.gguf"};
  all.insert(all.end(), words.begin(), words.end());
  Flags given;
  for (const GivenFlag& flag : parsed("run", all).flags) given.emplace_back(flag.name, flag.text);
  return given;
}

std::string refusal(std::string_view command, const std::vector<std::string>& words) {
  const auto result = parse_command(*find_command(command), words);
  EXPECT_FALSE(result.has_value());
  if (result.has_value()) return "accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  return result.error().message;
}

TEST(CommandLine, OneFlagHasManySpellings) {
  const Flags expected = {{"max_tokens", "5"}};
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--max-tokens", "5"},
                                                {"--max_tokens", "5"},
                                                {"--max-tokens=5"},
                                                {"-n", "5"},
                                                {"-n=5"},
                                                {"--predict", "5"},
                                                {"--n-predict", "5"},
                                                {"--n_predict=5"}}) {
    EXPECT_EQ(flags(words), expected) << words[0];
  }
  EXPECT_EQ(flags({"-ctk", "f16", "-np", "2"}), (Flags{{"cache_type_k", "f16"}, {"parallel", "2"}}));
  EXPECT_EQ(flags({"--kv-type", "q8_0/q4_0"}), (Flags{{"kv_dtype", "q8_0/q4_0"}}));
}

TEST(CommandLine, TheWordAfterAFlagIsItsValueWhateverItLooksLike) {
  EXPECT_EQ(flags({"-n", "-1", "-p", "-ngl", "--stop", "--json"}),
            (Flags{{"max_tokens", "-1"}, {"prompt", "-ngl"}, {"stop", "--json"}}));
  EXPECT_EQ(flags({"-p", ""}), (Flags{{"prompt", ""}}));
  EXPECT_EQ(flags({"--prompt="}), (Flags{{"prompt", ""}}));
  EXPECT_EQ(flags({"--prompt=a=b -c"}), (Flags{{"prompt", "a=b -c"}}));
}

TEST(CommandLine, BooleansNeedNoValue) {
  EXPECT_EQ(flags({"--json", "-q", "--ignore-eos=false"}),
            (Flags{{"json", "true"}, {"quiet", "true"}, {"ignore_eos", "false"}}));
}

TEST(CommandLine, RepeatedFlagsKeepTheirOrder) {
  EXPECT_EQ(flags({"--stop", "a", "-r", "b", "-n", "1", "--stop=c"}),
            (Flags{{"stop", "a"}, {"stop", "b"}, {"max_tokens", "1"}, {"stop", "c"}}));
}

TEST(CommandLine, WordsMayStandAnywhere) {
  const std::vector<std::string> expected = {"m.gguf", "t.txt"};
  EXPECT_EQ(parsed("score", {"m.gguf", "t.txt", "--json"}).arguments, expected);
  EXPECT_EQ(parsed("score", {"--top", "3", "m.gguf", "--json", "t.txt"}).arguments, expected);
  EXPECT_EQ(parsed("score", {"t.txt", "-m", "m.gguf"}).arguments, expected);
  EXPECT_EQ(parsed("score", {"--model=m.gguf", "t.txt"}).arguments, expected);
  EXPECT_EQ(parsed("score", {"m.gguf", "-"}).arguments[1], "-");
  EXPECT_EQ(parsed("score", {"--", "--m.gguf", "-t"}).arguments, (std::vector<std::string>{"--m.gguf", "-t"}));
}

TEST(CommandLine, FlagsWithoutEffectAreSaidWhereAModelRuns) {
  const auto run =
      parsed("run", {"-ngl", "99", "--n-gpu-layers=9", "-fa", "m.gguf", "--flash-attn", "on", "--no-mmap"});
  EXPECT_EQ(run.arguments, std::vector<std::string>{"m.gguf"});
  EXPECT_TRUE(run.flags.empty());
  ASSERT_EQ(run.without_effect.size(), 5U);
  EXPECT_TRUE(run.without_effect[0].starts_with("-ngl has no effect: ")) << run.without_effect[0];
  EXPECT_TRUE(run.without_effect[1].starts_with("--n-gpu-layers has no effect: ")) << run.without_effect[1];
  EXPECT_TRUE(refusal("inspect", {"m.gguf", "-ngl", "9"}).starts_with("-ngl: unknown flag; "));
}

TEST(CommandLine, ARefusalSaysWhatIsMeant) {
  EXPECT_EQ(refusal("run", {"m.gguf", "--max-token", "5"}),
            "--max-token: unknown flag; did you mean --max-tokens? plm run --help lists all");
  EXPECT_EQ(refusal("run", {"m.gguf", "--xyzzy=5"}), "--xyzzy: unknown flag; plm run --help lists all");
  for (const char* odd : {"-=5", "---", "--=", "-\x1b[2J"}) {
    const std::string message = refusal("run", {"m.gguf", odd});
    EXPECT_NE(message.find("unknown flag"), std::string::npos) << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(refusal("run", {"m.gguf", "-f"}), "-f needs a value: FILE");
  EXPECT_EQ(refusal("run", {"m.gguf", "two"}), "\"two\" is one word too many; usage: plm run MODEL [options]");
  EXPECT_EQ(refusal("score", {"-m", "m.gguf", "one", "two"}),
            "\"two\" is one word too many; usage: plm score MODEL [FILE] [options]");
  EXPECT_TRUE(refusal("fetch", {}).starts_with("MODEL is missing; usage: plm fetch MODEL"));
  EXPECT_EQ(refusal("models", {"burn"}), "ACTION: found \"burn\", expected one of list, where, remove");
}

TEST(CommandLine, HelpIsAskedForAnywhere) {
  EXPECT_TRUE(parsed("run", {"--help"}).wants_help);
  EXPECT_TRUE(parsed("run", {"m.gguf", "too", "many", "-h"}).wants_help);
  EXPECT_FALSE(parsed("run", {"m.gguf", "-p", "--help"}).wants_help);
}

TEST(CommandLine, NoCommandHasTwoFlagsOfOneName) {
  for (const Command* command : commands()) {
    std::vector<std::string> seen = {"help", "h"};
    for (const Parameter& parameter : command_parameters(*command)) {
      std::vector<std::string_view> names = split_list(parameter.aliases);
      names.push_back(parameter.name);
      for (const std::string_view name : names) {
        EXPECT_EQ(std::count(seen.begin(), seen.end(), name), 0) << command->head.name << " " << name;
        seen.emplace_back(name);
      }
    }
  }
}

TEST(CommandLine, CommandsAreFoundByNameAndAlias) {
  EXPECT_EQ(find_command("run")->head.name, "run");
  EXPECT_EQ(find_command("generate"), find_command("run"));
  EXPECT_EQ(find_command("wander"), nullptr);
  EXPECT_EQ(find_command(""), nullptr);
}

}  // namespace
}  // namespace plm
