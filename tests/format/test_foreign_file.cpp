#include "format/foreign_file.h"

#include <gtest/gtest.h>

#include "raw_gguf.h"

namespace plm {
namespace {

std::string kind(const std::string& bytes) {
  return std::string(foreign_file_kind(as_file(bytes)).value_or("unknown"));
}

TEST(ForeignFile, IsNamed) {
  EXPECT_TRUE(kind("<!DOCTYPE html><html>").starts_with("an HTML page"));
  EXPECT_TRUE(kind("version https://git-lfs.github.com/spec/v1\n").starts_with("a git-lfs pointer"));
  EXPECT_TRUE(kind("tjgg\x01").starts_with("a model in one of ggml's formats before GGUF"));
  EXPECT_TRUE(kind("PK\x03\x04").starts_with("a zip archive"));
  EXPECT_TRUE(kind("\x80\x02}q").starts_with("a Python pickle"));
  EXPECT_TRUE(kind(raw_u64(9) + "{\"a\":{}} ").starts_with("a safetensors file"));
  EXPECT_TRUE(kind("{\"model\":").starts_with("JSON"));
}

TEST(ForeignFile, OthersAreUnknown) {
  EXPECT_EQ(kind(""), "unknown");
  EXPECT_EQ(kind("GGUX"), "unknown");
  EXPECT_EQ(kind(raw_u64(~std::uint64_t{0}) + "{\""), "unknown");
  EXPECT_EQ(kind("<"), "unknown");
}

}  // namespace
}  // namespace plm
