#include "engine/model_hash.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "engine/sha256.h"

namespace plm {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

class ModelHashTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::filesystem::copy_file(std::string(PLM_MODELS) + "/twin-ar.gguf", model_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "plm_model_hash";
  const std::string model_ = folder_ / "model.gguf";
  const std::string memory_ = folder_ / "new" / "hashes.json";
};

// FIPS 180-4's own examples.
TEST(Sha256, KnowsThePublishedAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(ModelHashTest, IsThatOfHeaderAndOfAllBytes) {
  const auto file = GgufFile::open(model_).value();
  const ModelHash hash = model_hash(*file).value();
  const std::string bytes = bytes_of(model_);
  EXPECT_EQ(hash.content, sha256(bytes));
  EXPECT_EQ(hash.header, sha256(std::string_view(bytes).substr(0, file->parts()[0].header.size())));
}

TEST_F(ModelHashTest, IsRememberedUntilTheFileChanges) {
  std::size_t reports = 0;
  const HashOptions options{.memory = memory_, .on_progress = [&](double) { ++reports; }};
  const auto file = GgufFile::open(model_).value();
  const ModelHash first = model_hash(*file, options).value();
  EXPECT_GT(reports, 0U);
  reports = 0;
  EXPECT_EQ(model_hash(*file, options)->content, first.content);
  EXPECT_EQ(reports, 0U) << "nothing was read";

  std::string bytes = bytes_of(model_);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(model_, std::ios::binary) << bytes;
  EXPECT_EQ(model_hash(*file, options).error().kind, ErrorKind::model_changed);
  const auto changed = GgufFile::open(model_).value();
  const ModelHash second = model_hash(*changed, options).value();
  EXPECT_EQ(second.content, sha256(bytes));
  EXPECT_EQ(second.header, first.header);
}

TEST_F(ModelHashTest, ADamagedMemoryOnlyCostsTime) {
  std::filesystem::create_directories(folder_ / "new");
  const auto file = GgufFile::open(model_).value();
  const std::string expected = model_hash(*file)->content;
  for (const char* text : {"", "[", "[1,2]", "{\"a\": 1}"}) {
    std::ofstream(memory_, std::ios::binary) << text;
    EXPECT_EQ(model_hash(*file, {.memory = memory_})->content, expected) << text;
  }
  EXPECT_EQ(model_hash(*file, {.memory = model_ + "/no/folder"})->content, expected);
}

}  // namespace
}  // namespace plm
