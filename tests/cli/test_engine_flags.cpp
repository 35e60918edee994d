#include "cli/engine_flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plm {
namespace {

template <typename T>
std::string refusal(const Result<T>& result, ErrorKind kind) {
  EXPECT_FALSE(result.has_value());
  if (result.has_value()) return "accepted";
  EXPECT_EQ(result.error().kind, kind);
  return result.error().message;
}

TEST(EngineFlags, IdsAreNumbersWithCommas) {
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(parse_ids("1,2,3").value(), (Ids{1, 2, 3}));
  EXPECT_EQ(parse_ids("0, 65535 ,7\n").value(), (Ids{0, 65535, 7}));
  EXPECT_EQ(parse_ids("").value(), Ids{});
  EXPECT_EQ(parse_ids("-1").value(), Ids{-1});  // whether the model has it is not asked here
  for (const char* text : {"1,,2", "a", "1 2", "1,2x", "99999999999", "1.5", "0x10", "[1]"}) {
    EXPECT_NE(refusal(parse_ids(text), ErrorKind::usage).find("expected ids as 1,2,3"), std::string::npos) << text;
  }
}

TEST(EngineFlags, TextIsReadAsItIs) {
  std::string pattern = (std::filesystem::temp_directory_path() / "plm-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  const std::string path = (folder / "prompt").string();
  const std::string text = std::string(200'000, 'a') + std::string("\0\r\n", 3);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(read_text(path).value(), text);
  std::filesystem::resize_file(path, (64U << 20) + 1);
  EXPECT_NE(refusal(read_text(path), ErrorKind::bad_input).find("64 MiB"), std::string::npos);
  EXPECT_NE(refusal(read_text(folder), ErrorKind::bad_input).find("is a directory"), std::string::npos);
  EXPECT_NE(refusal(read_text(path + "s"), ErrorKind::bad_input).find(path + "s: No such file"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(EngineFlags, RopeFlagsAreSettingsOfMetadata) {
  Settings settings(kEngineFlags);
  EXPECT_TRUE(rope_settings(settings).empty());
  for (const auto& [flag, value] :
       {std::pair{"rope-scaling", "yarn"}, std::pair{"rope-scale", "2.5"}, std::pair{"rope-base", "10000.5"},
        std::pair{"yarn-orig-ctx", "4096"}, std::pair{"yarn-beta-fast", "16.5"}}) {
    ASSERT_TRUE(settings.set_text(flag, value).has_value()) << flag;
  }
  EXPECT_EQ(rope_settings(settings),
            (std::vector<std::string>{"rope.scaling.type=str:yarn", "rope.scaling.original_context_length=4096",
                                      "rope.freq_base=float:10000.5", "rope.scaling.factor=float:2.5",
                                      "rope.scaling.yarn_beta_fast=float:16.5"}));
  for (const char* bad : {"0", "-1", "x", "nan"}) EXPECT_FALSE(settings.set_text("rope-base", bad).has_value()) << bad;
  EXPECT_FALSE(settings.set_text("rope-scaling", "spiral").has_value());
}

TEST(EngineFlags, MemoryIsCountedInBytes) {
  EXPECT_GT(peak_memory_bytes(), std::size_t{1} << 20);
  EXPECT_LT(peak_memory_bytes(), std::size_t{1} << 40);
}

}  // namespace
}  // namespace plm
