#include "format/gguf_override.h"

#include <gtest/gtest.h>

#include "bad_inputs.h"
#include "format/gguf.h"
#include "raw_gguf.h"

namespace plm {
namespace {

std::string raw_model() {
  RawGguf file;
  file.with("count", 4, raw_u32(7))
      .with("tiny", 0, "\1")
      .with("rate", 6, raw(0.5F))
      .with("flag", 7, "\1")
      .with("word", 8, raw_u64(2) + "ab")
      .with("list", 9, raw_u32(0) + raw_u64(2) + "\1\2");
  return file.bytes();
}

struct Overrides : testing::Test {
  Result<std::shared_ptr<const GgufFile>> set(const std::vector<std::string>& settings) {
    return GgufFile::overridden(*GgufFile::parse(as_file(bytes), "m.gguf"), settings);
  }
  std::string refusal(const std::string& setting) {
    const auto file = set({setting});
    if (file.has_value()) return "accepted";
    EXPECT_EQ(file.error().kind, ErrorKind::usage);
    return file.error().message;
  }
  std::string bytes = raw_model();
};

TEST_F(Overrides, TakeTheTypeOfTheFile) {
  const auto file =
      set({"count=9", "rate=2", "flag=false", "word=int:5", "tiny=255", "count=10"}).value();  // a later one wins
  EXPECT_EQ(file->find("count")->described(), "u32 10");
  EXPECT_EQ(file->find("rate")->described(), "f32 2");
  EXPECT_EQ(file->find("flag")->described(), "bool false");
  EXPECT_EQ(file->find("word")->as_string(), "int:5") << "a text may begin like a type";
  EXPECT_EQ(file->find("tiny")->as_unsigned(), 255U);
  EXPECT_EQ(file->overrides().size(), 6U);
  EXPECT_EQ(file->tensors().size(), (*GgufFile::parse(as_file(bytes), "m.gguf"))->tensors().size());
}

TEST_F(Overrides, ANewKeySaysItsTypeByItsLook) {
  const auto file =
      set({"a=8", "b=-8", "c=8.0", "d=true", "e=8x", "f=float:8", "g=str:8", "h=int:8", "i=1e3", "j=", "k=4294967296"})
          .value();
  const std::pair<const char*, const char*> expected[] = {
      {"a", "u32 8"}, {"b", "i32 -8"}, {"c", "f32 8"},    {"d", "bool true"},    {"e", "string \"8x\""},
      {"f", "f32 8"}, {"h", "i64 8"},  {"i", "f32 1000"}, {"g", "string \"8\""}, {"k", "u64 4294967296"}};
  for (const auto& [key, value] : expected) EXPECT_EQ(file->find(key)->described(), value) << key;
  EXPECT_EQ(file->find("j")->as_string(), "");
}

TEST_F(Overrides, WhatDoesNotFitIsRefusedByName) {
  for (const char* setting : {"count=-1", "count=x", "count=4294967296", "count=1.5", "count=", "tiny=256", "rate=nan",
                              "rate=fast", "flag=1", "rate=1e999", "flag=yes"}) {
    const std::string key = std::string(setting).substr(0, std::string(setting).find('='));
    const std::string message = refusal(setting);
    EXPECT_EQ(message.find("override " + key + ": "), 0U) << message;
    EXPECT_NE(message.find("as in the file"), std::string::npos) << message;
  }
  EXPECT_NE(refusal("list=3").find("only single values"), std::string::npos);
  EXPECT_NE(refusal("count").find("expected KEY=VALUE"), std::string::npos);
  EXPECT_NE(refusal("=5").find("expected KEY=VALUE"), std::string::npos);
}

TEST_F(Overrides, TheFileItselfStaysAndLivesOn) {
  auto base = *GgufFile::parse(as_file(bytes), "m.gguf");
  const auto changed = GgufFile::overridden(base, std::vector<std::string>{"count=8"}).value();
  EXPECT_EQ(base->unsigned_value("count").value(), 7U);
  base.reset();
  EXPECT_EQ(changed->unsigned_value("count").value(), 8U);
  EXPECT_EQ(changed->string_value("word").value(), "ab");
}

}  // namespace
}  // namespace plm
